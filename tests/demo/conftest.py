"""The station programs, run as a worker runs them: by name, in a workspace, with nothing else in the environment."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats.evidence.readers.report import ReadReport
from pipelines.formats.evidence.readers.table import READERS
from tests.demo.repositories import Repository
from tests.waiting import LONG

BIN = Path(__file__).resolve().parents[2] / "pipelines" / "demo" / "bin"
VENV = Path(sys.executable).parent


@dataclass(frozen=True)
class Done:
    """What a station left: its exit code, its result document, its log; and its report, as Gateline reads it."""

    code: int
    document: dict[str, Any]
    log: str
    folder: Path

    @property
    def output(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["output"]
        return found

    @property
    def report(self) -> ReadReport:
        path = self.folder / self.document["artifacts"][0]["path"]
        return READERS["sarif" if path.suffix == ".sarif" else "junit"](path.read_bytes())

    def counts(self, group: str) -> dict[str, int]:
        return {key: int(value) for key, value in self.report.facts[group].items()}

    @property
    def summary(self) -> str:
        return str(self.document["summary"])


class Workspace:
    """The folder of one task. `run` starts a station program in it; `context` grows as the line's does."""

    def __init__(self, folder: Path, roots: Path) -> None:
        self.folder, self.roots = folder, roots
        self.context: dict[str, Any] = {}
        self.path = [BIN, VENV, *map(Path, os.get_exec_path())]
        folder.mkdir()

    def run(
        self, program: str, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> Done:
        result = self.folder.parent / "result.json"
        result.unlink(missing_ok=True)
        done = subprocess.run(
            [program, *arguments],
            cwd=self.folder,
            env=self.environment(result) | dict(env or {}),
            input=stdin.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONG,
            check=False,
        )
        log = done.stdout.decode("utf-8", "replace")
        assert result.is_file(), log
        found = Done(done.returncode, json.loads(result.read_text()), log, self.folder)
        if found.document["verdict"] == "pass":
            self.context |= found.document.get("output", {})
        return found

    def environment(self, result: Path) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join(map(str, self.path)),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "GATELINE_RESULT": str(result),
            "GATELINE_TASK": "WI-demo-1",
            "GATELINE_STATION": "station",
            "GATELINE_VISIT": "1",
            "GATELINE_REPOSITORY_ROOTS": str(self.roots),
            "GATELINE_PRIVATE_HOSTS": "",
            "GATELINE_AGENT_COMMAND": "",
        }

    def checkout(self, repository: Repository | Path | str, revision: str = "", **env: str) -> Done:
        value = repository.folder if isinstance(repository, Repository) else repository
        return self.run("repository-checkout", f"--repository={value}", f"--revision={revision}", env=env)

    def check(self, station: str, *more: str) -> Done:
        """Run lint, tests or security on what is checked out."""
        return self.run(f"repository-{station}", f"--tree={self.context['tree']}", *more)

    def deliver(self, **changed: str) -> Done:
        names = ("tree", "checkout_report", "lint_report", "tests_report", "security_report")
        values = {name: self.context[name] for name in names} | changed
        return self.run("repository-deliver", *(f"--{n.replace('_', '-')}={v}" for n, v in values.items()))

    def files(self) -> dict[str, bytes]:
        tree = self.folder / "tree"
        return {str(p.relative_to(tree)): p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace", tmp_path / "repositories")


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Repository]:
    """Make a repository under the listed root."""

    def make(
        files: Mapping[str, str | bytes] | None = None, name: str = "sums", bare: bool = False
    ) -> Repository:
        return Repository(tmp_path / "repositories" / name, files, bare)

    return make


@pytest.fixture
def without_git(workspace: Workspace) -> Workspace:
    """A machine that has no git: only the station programs and what set-up installs beside Python."""
    assert not (VENV / "git").exists()
    workspace.path = [BIN, VENV]
    return workspace


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
