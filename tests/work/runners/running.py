"""A runner in a process of its own, without a database, and the server that it calls."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.fixtures.site import ROOT, stop

# What a shell on another machine has: no word about a database, keys or settings of ours.
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "CI")


@dataclass
class RunnerProcess:
    server: str
    token: str
    home: Path
    labels: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    program: tuple[str, ...] = ("-m", "pipelines.work.program")
    before: tuple[str, ...] = ()
    # What else its machine's environment holds.
    env: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.home / "runner.log"

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        labels = [word for label in self.labels for word in ("--label", label)]
        env = {name: os.environ[name] for name in KEPT if name in os.environ} | dict(self.env)
        words = ["--server", self.server, "--state", str(self.home / "state"), "--name", self.home.name]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    *self.before,
                    sys.executable,
                    *self.program,
                    *words,
                    *([] if "--isolation" in self.more else ["--isolation", "none"]),
                    *labels,
                    *self.more,
                ],
                cwd=ROOT,
                env={**env, "GATELINE_TOKEN": self.token},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """As planned; the exit code."""
        assert self.process is not None
        stop(self.process)
        return int(self.process.returncode)


@contextmanager
def runner(
    server: str,
    token: str,
    home: Path,
    *more: str,
    labels: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
) -> Iterator[RunnerProcess]:
    found = RunnerProcess(server, token, home, labels, more, env=env or {})
    found.start()
    try:
        yield found
    finally:
        found.end()
