"""The real program as a process, before a real web process: `cli(user).run("lines")`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import ROOT, Site
from tests.waiting import LONG

ALL = ("read", "submit", "report", "decide", "design", "settings")
Said = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Gateline:
    """The command line of somebody, with a folder for its profiles."""

    config: Path
    environment: dict[str, str]

    def run(self, *words: str, given: str = "", cwd: Path | None = None, **env: str) -> Said:
        return subprocess.run(
            [sys.executable, "-m", "gateline", *words],
            env=self.environment | env,
            cwd=cwd or self.config.parent,
            input=given,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )

    def ok(self, *words: str, **more: Any) -> str:
        """Its standard output; it has to end well."""
        said = self.run(*words, **more)
        assert said.returncode == 0, said.stdout + said.stderr
        return said.stdout

    def json(self, *words: str, **more: Any) -> Any:
        return json.loads(self.ok(*words, "--json", **more))

    def popen(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "gateline", *words],
            env=self.environment,
            cwd=self.config.parent,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )


def gateline(folder: Path, **more: str) -> Gateline:
    """Without what this machine's own settings would change."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GATELINE_")}
    config = folder / "profiles.json"
    return Gateline(config, kept | {"PYTHONPATH": str(ROOT), "GATELINE_CONFIG": str(config)} | more)


@pytest.fixture
def cli(site: Site, world: World, tmp_path: Path) -> Callable[..., Gateline]:
    """Signed in by the environment, as a person with a token of all scopes or of those named."""

    def made(user: User, *scopes: str, token: str = "") -> Gateline:
        secret = token or world.token_of(user, *(scopes or ALL))[1]
        return gateline(tmp_path, GATELINE_URL=site.url, GATELINE_TOKEN=secret)

    return made
