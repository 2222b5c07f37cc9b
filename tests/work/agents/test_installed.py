"""Which coding agents a machine has: found on the path of stations, asked for their version with nothing of ours."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Worker
from pipelines.work.agents import installed as looking
from pipelines.work.agents.installed import installed, programs
from tests.waiting import until


def program(folder: Path, name: str, text: str) -> Path:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


def test_a_program_is_found_and_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELINE_SECRET_X", "not for it")
    place = program(tmp_path, "claude", 'echo "2.1.330$GATELINE_SECRET_X (Claude Code)"; echo more')
    program(tmp_path, "codex", "exit 3")
    path = (str(tmp_path), "/usr/bin", "/bin")
    found = installed(programs(path), path)
    assert set(found) == {"claude", "codex"}
    assert (found["claude"]["path"], found["claude"]["version"]) == (str(place), "2.1.330 (Claude Code)")
    assert found["codex"]["version"] == ""
    assert programs(()) == {}


def test_a_program_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "SECONDS", 0.2)
    program(tmp_path, "claude", "exec sleep 60")
    path = (str(tmp_path), "/usr/bin", "/bin")
    assert installed(programs(path), path)["claude"]["version"] == ""


@pytest.mark.django_db(transaction=True)
def test_a_runner_tells_what_it_has(worker: subprocess.Popen[bytes], settings: Any) -> None:
    """This one has none of them, or those of this machine: it tells what is on its own path."""
    expected = set(programs(tuple(settings.STATION_PATH)))
    until(lambda: Worker.objects.filter(stopped_at=None, pid=worker.pid).exists(), "the row of the runner")
    until(lambda: set(Worker.objects.get(pid=worker.pid).agents) == expected, "what it has")
