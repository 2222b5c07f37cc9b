"""What the tests of the working side share: folders and processes that are really there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages

from pipelines.work.handlers import command
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from tests.fixtures.bucket import use_store
from tests.work.driving import Bench

PYTHON = sys.executable


class Collected:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.notes: list[str] = []

    async def write(self, stream: str, data: bytes) -> None:
        (self.out if stream == "out" else self.err).extend(data)

    async def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class Clock:
    """Stands still until it is moved, however slow the machine is."""

    now: float

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(0.0)
    monkeypatch.setattr(command, "time", made)
    return made


@pytest.fixture
def sink() -> Collected:
    return Collected()


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    found = Attempt(tmp_path / "attempt")
    for folder in (found.workspace, found.temporary, found.result.parent):
        folder.mkdir(parents=True)
    return found


@pytest.fixture
def spec(attempt: Attempt) -> Callable[..., Spec]:
    """A command that runs the given Python program."""

    def make(program: str, **more: object) -> Spec:
        env = {
            "PATH": os.defpath,
            "HOME": str(attempt.workspace),
            "LANG": "C.UTF-8",
            "GATELINE_RESULT": str(attempt.result),
        }
        settings: dict[str, object] = {
            "kind": "command",
            "attempt": attempt,
            "argv": (PYTHON, "-I", "-c", program),
            "env": env,
            "limits": ProcessLimits(grace=1, signal_grace=1),
        }
        return Spec(**(settings | more))  # type: ignore[arg-type]

    return make


@pytest.fixture
def artifacts_here(settings: Any, tmp_path: Path) -> Iterator[None]:
    """The artifact storage of this test."""
    use_store(settings, (tmp_path / "artifacts").as_uri())
    yield
    storages._storages.pop("artifacts", None)


@pytest.fixture
def bench(tmp_path: Path, artifacts_here: None) -> Bench:
    return Bench(tmp_path / "workspaces")


def alive(pid: int) -> bool:
    """Whether the process is there, and not only as a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
