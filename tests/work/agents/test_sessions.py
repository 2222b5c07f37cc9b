"""An agent in a line: sent back by a reviewer, it goes on with its session, and its HOME is in no snapshot."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pipelines.models import Job, Snapshot, Task
from tests.factories import World
from tests.work.agents.test_recordings import RECORDINGS
from tests.work.driving import Bench, done, drive, text_of

pytestmark = pytest.mark.django_db(transaction=True)

CLAUDE = f"""#!{sys.executable} -IS
import os, sys
told = sys.stdin.read()
home = os.environ["HOME"]
again = "--resume" in sys.argv
with open(home + "/said", "a") as file:
    file.write(told)
with open("made.txt", "w") as file:
    file.write(open(home + "/said").read() + ("again" if again else "first"))
print(open({str(RECORDINGS / "claude-ok.jsonl")!r}).read())
"""
GATE = {"key": "review", "approval": {"who": [{"role": "reviewer", "count": 1}]}}


@pytest.fixture
def path(tmp_path: Path) -> str:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(CLAUDE)
    (folder / "claude").chmod(0o755)
    return str(folder)


def started(world: World, **work: object) -> Task:
    told = {"agent": "claude", "prompt": "Do it.", "network": "open", **work}
    station = {
        "key": "implement",
        "work": {"kind": "agent", **told},
        "rules": [{"id": "r", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}],
    }
    return world.start(world.line(stations=[station, "ship"], gates=[GATE]))


def made(task: Task, visit: int) -> str:
    manifest = Snapshot.objects.get(job=done(task, "implement", visit)).manifest
    assert [entry["path"] for entry in manifest] == ["made.txt"]
    return str(manifest[0]["digest"])


def test_a_send_back_is_the_next_message_of_the_session(world: World, bench: Bench, path: str) -> None:
    task = started(world)
    search = {"station_path": (path, *os.environ["PATH"].split(os.pathsep))}
    drive(bench, task, **search)
    job = done(task, "implement")
    assert (job.outcome or {})["facts"]["agent"]["session"] == "44bef7bc-7a15-4473-bc04-5d96338881e5"
    assert (job.outcome or {})["facts"]["agent"]["source"]["station"] == "implement"
    made(task, 1)
    world.vote(task, "send_back", reason="Mind the gap.")
    drive(bench, task, **search)
    again = done(task, "implement", 2)
    assert "[gateline] The agent's session is continued." in text_of(again)
    made(task, 2)


def test_without_resume_it_is_told_the_prompt_and_the_remark(world: World, bench: Bench, path: str) -> None:
    task = started(world, resume=False)
    search = {"station_path": (path, *os.environ["PATH"].split(os.pathsep))}
    drive(bench, task, **search)
    world.vote(task, "send_back", reason="Mind the gap.")
    drive(bench, task, **search)
    assert "continued" not in text_of(done(task, "implement", 2))
    assert Job.objects.get(task=task, station="implement", visit=2).result == "success"
