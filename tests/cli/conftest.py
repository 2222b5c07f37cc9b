"""The real program as a process, before a real web process: `cli(user).run("lines")`."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import ROOT, Site, loaded
from tests.waiting import LONG

ALL = ("read", "submit", "report", "decide", "design", "settings")
Said = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Gateline:
    """The command line of somebody, with a folder for its profiles."""

    config: Path
    environment: dict[str, str]

    def run(self, *words: str, given: str = "", cwd: Path | None = None, **env: str) -> Said:
        """A command from its beginning to its end."""
        program = [sys.executable, "-m", "gateline"]
        folder, environment = cwd or self.config.parent, self.environment | env
        if sys.platform != "linux":
            return subprocess.run(
                [*program, *words],
                env=environment,
                cwd=folder,
                input=given,
                capture_output=True,
                text=True,
                timeout=LONG,
                check=False,
            )
        # Forked from one that has loaded its libraries; `popen` starts one that loads them itself.
        with ExitStack() as files:
            streams = [files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            streams[0].write(given.encode())
            streams[0].seek(0)
            process = loaded().start("gateline", words, environment, streams, folder)
            try:
                code = process.wait(LONG)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            return Said([*program, *words], code, *(_text(stream) for stream in streams[1:]))

    def ok(self, *words: str, **more: Any) -> str:
        """Its standard output; it has to end well."""
        said = self.run(*words, **more)
        assert said.returncode == 0, said.stdout + said.stderr
        return said.stdout

    def json(self, *words: str, **more: Any) -> Any:
        return json.loads(self.ok(*words, "--json", **more))

    def popen(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """It goes on while the test does something; `more`: its streams, otherwise pipes."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        words = (sys.executable, "-m", "gateline", *words)
        # A shell gives what it runs in the background an ignored Ctrl-C, and children inherit it.
        return subprocess.Popen(
            words,
            env=self.environment,
            cwd=self.config.parent,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            **streams,
        )

    def on_a_terminal(self, *words: str) -> Terminal:
        ours, theirs = pty.openpty()
        process = self.popen(*words, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        return Terminal(process, ours)


def _text(stream: IO[bytes]) -> str:
    """All of it, read as a text pipe is."""
    stream.seek(0)
    return io.TextIOWrapper(stream).read()


@dataclass
class Terminal:
    """A process at a terminal: what it showed so far, and the keys of its person."""

    process: subprocess.Popen[str]
    file: int
    shown: str = ""

    def until(self, text: str) -> str:
        """All that was shown, when this is part of what is new."""
        begin = len(self.shown)
        while text not in self.shown[begin:]:
            piece = self._read()
            assert piece, f"it ended: {self.shown}"
            self.shown += piece
        return self.shown[begin:]

    def type(self, keys: str) -> None:
        os.write(self.file, keys.encode())

    def code(self) -> int:
        """When it has ended."""
        while piece := self._read():
            self.shown += piece
        os.close(self.file)
        return self.process.wait(LONG)

    def _read(self) -> str:
        ready, _, _ = select.select([self.file], [], [], LONG)
        assert ready, f"it waits: {self.shown}"
        try:
            return os.read(self.file, 65536).decode()
        except OSError:
            return ""  # the other side is closed


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
