"""An agent in a line: sent back by a reviewer, it goes on with its session, and its HOME is in no snapshot."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pipelines.models import Job, Snapshot, Task
from pipelines.queries import versions
from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.decide.outcome_judgement import judge_outcome
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


@pytest.mark.parametrize(
    ("preset", "name", "result", "why"),
    [
        ("claude", "claude-denied", "blocked", "denied"),
        ("opencode", "opencode-auto-rejected", "blocked", "denied"),
        ("codex", "codex-command-failed", "failure", "nothing_done"),
        ("gemini", "gemini-no-shell", "failure", "nothing_done"),
        ("claude", "claude-provider-down-cut", "failure", "provider_unavailable"),
    ],
)
def test_no_claim_makes_a_success(
    world: World, bench: Bench, path: str, preset: str, name: str, result: str, why: str
) -> None:
    """Each ended with exit code 0, and three said that they had made the file."""
    program = f"#!{sys.executable} -IS\nprint(open({str(RECORDINGS / f'{name}.jsonl')!r}).read())\n"
    (Path(path) / preset).write_text(program)
    (Path(path) / preset).chmod(0o755)
    task = started(world, agent=preset, model="stub/model")
    drive(bench, task, station_path=(path, *os.environ["PATH"].split(os.pathsep)))
    job = done(task, "implement")
    line = versions.parsed_line_by_version_id(job.pinned_id)
    told_by = judge_outcome(line, line.station("implement"), read_outcome(job.outcome)).by
    assert (job.result, told_by) == (result, why)
