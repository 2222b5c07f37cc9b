"""Processes of the product on a PostgreSQL of their own, and the ways to kill them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from config.embedded import layout, server

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Member:
    """One process that is started again whenever it ends."""

    name: str
    words: tuple[str, ...]
    env: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    starts: int = 0
    program: tuple[str, ...] = ("manage.py",)

    def tend(self) -> None:
        if self.process is None or self.process.poll() is not None:
            with self.log.open("ab") as output:
                self.process = subprocess.Popen(
                    [sys.executable, *self.program, *self.words],
                    cwd=ROOT,
                    env=self.env,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            self.started = time.monotonic()
            self.starts += 1

    def end(self, number: int) -> None:
        """Send a signal and wait until the process is gone."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30)


class Fleet:
    """`isolations` one worker each."""

    def __init__(
        self, home: Path, isolations: tuple[str, ...], web_port: int | None, *, redis_url: str = ""
    ) -> None:
        self.home = home
        self._turn: list[Member] = []
        kept = {
            name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}
        }
        base = {**kept, "GATELINE_HOME": str(home), "DJANGO_SETTINGS_MODULE": "config.settings"}
        if redis_url:
            base["REDIS_URL"] = redis_url
        base.pop("GATELINE_ROLE", None)
        self.workers = [
            Member(
                f"worker {index}",
                ("worker", "--name", f"worker {index}"),
                {**base, "GATELINE_ISOLATION": isolation},
                home / f"worker{index}.log",
            )
            for index, isolation in enumerate(isolations)
        ]
        self.members = list(self.workers)
        if web_port is not None:
            words = ("web", "--port", str(web_port))
            env = {**base, "PORT": str(web_port)}
            self.members.append(Member("web", words, env, home / "web.log"))

    def tend(self) -> None:
        for member in self.members:
            member.tend()

    def kill_one(self) -> str:
        """`kill -9` of one process, web or worker, each in turn but in random order; `tend` starts it again."""
        self._turn = self._turn or random.sample(self.members, len(self.members))
        member = self._turn.pop()
        member.tend()
        member.end(signal.SIGKILL)
        return member.name

    def restart_one(self, ready: Callable[[int], bool]) -> None:
        """A planned stop of one worker that is at work: `ready(pid)`."""
        member = random.choice(self.workers)
        member.tend()
        assert member.process is not None
        deadline = time.monotonic() + 60
        while not ready(member.process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        member.end(signal.SIGTERM)
        assert member.process is not None
        assert member.process.returncode == 0, f"{member.name} ended with {member.process.returncode}"

    def kill_postgres(self) -> None:
        pid = server.living_postmaster_pid_or_none(layout.recorded_or_planned_layout(self.home))
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        for member in self.members:
            if member.process is not None and member.process.poll() is None:
                member.process.terminate()
        for member in self.members:
            if member.process is not None:
                try:
                    member.process.wait(20)
                except subprocess.TimeoutExpired:
                    member.process.kill()
                    member.process.wait()


def marked(mark: str) -> list[int]:
    """Processes that have the mark in their command line, zombies apart."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
