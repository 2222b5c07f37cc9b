"""The station programs, run as a worker runs them: by name, in a workspace, with nothing else in the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG

BIN = Path(__file__).resolve().parents[2] / "pipelines" / "lines" / "demo" / "bin"
VENV = Path(sys.executable).parent


@dataclass(frozen=True)
class Done:
    """A station's exit code, its result document and its log."""

    code: int
    document: dict[str, Any]
    log: str

    @property
    def output(self) -> dict[str, Any]:
        output: dict[str, Any] = self.document["output"]
        return output

    @property
    def summary(self) -> str:
        return str(self.document["summary"])


class Workspace:
    """The folder of one task. `run` starts a station program in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
        return Done(done.returncode, json.loads(result.read_text()), log)

    def environment(self, result: Path) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join(map(str, self.path)),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "GATELINE_RESULT": str(result),
            "GATELINE_TASK": "WI-demo-1",
            "GATELINE_STATION": "station",
            "GATELINE_VISIT": "1",
            "GATELINE_AGENT_COMMAND": "",
        }


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")
