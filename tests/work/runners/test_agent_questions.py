"""The tools of an agent with a runner elsewhere: one call of its own, under the lease of its job."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from pipelines import engine
from pipelines.models import Decision, Event, Job, Task, ToolPermission
from pipelines.work.agents.call_budget import MOST_CALLS
from pipelines.work.runners import agent_questions
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.factories import World, make_project
from tests.waiting import until
from tests.work.agents.tool_client import answers, write_program
from tests.work.driving import done, outcome_of, text_of
from tests.work.remotes import connect, remote
from tests.work.runners.far import FACTS, FarAway

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
QUESTIONS = ("get_task", "what_if", "gate_checks")
ON = {"id": "on", "when": {"result": "success"}, "to": "ship"}


@pytest.fixture(autouse=True)
def near(settings: Any, tmp_path: Path) -> None:
    settings.REPOSITORY_ROOTS = [tmp_path]
    settings.WORKSPACES_DIR = tmp_path / "server"
    agent_questions._budgets.clear()


def task_of(world: World, ask: Sequence[str] = (), **more: Any) -> Task:
    told = {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open", "ask": list(ask)}
    implement = {"key": "implement", "work": told, "rules": [ON]}
    return world.start(world.line(stations=[implement, "ship"], **more), title="Fix the answer")


def far_away(world: World, tmp_path: Path, body: str) -> FarAway:
    path = (write_program(tmp_path / "bin", body), *os.environ["PATH"].split(os.pathsep))
    return FarAway(tmp_path / "far", world.runner()[1], {"station_path": path})


def test_what_it_asks_through_a_runner_is_what_the_server_decides(world: World, tmp_path: Path) -> None:
    connect(world.project, remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"}))
    body = (
        "c = Client()\nc.call('get_task')\nopen('app.py', 'w').write('x = 2\\n')\n"
        "c.call('what_if', outcome='success')\n"
        "c.call('report', outcome='success', summary='Mended.', output={'score': 5})\nend()\n"
    )
    task = task_of(world, workspace={"git": {"repository": "app"}})
    far_away(world, tmp_path, body).work()
    job = done(task, "implement")
    (_, _, about, _), (_, refused, found, text), _reported = answers(job)
    assert about["task"]["title"] == "Fix the answer"
    assert not refused and found["reviewers_see"]["change"]["paths"] == ["app.py"], text
    assert found["details"] == Decision.objects.filter(job_id=job.pk).latest("at").answer
    outcome = outcome_of(task, "implement")
    assert outcome["output"] == {"score": 5}
    claim = {"kind": "report", "said": {"outcome": "success", "summary": "Mended."}}
    assert claim in outcome["facts"]["claims"]["made"], text_of(job)


class Asking:
    """A runner that has a job of its own, and asks by hand."""

    def __init__(self, world: World, home: Path, ask: Sequence[str] = ()) -> None:
        self.world, self.far = world, FarAway(home, world.runner()[1])
        self.task = task_of(world, ask)
        offers = [*FACTS["offers"], "secret:ANTHROPIC_API_KEY"]
        self.far.call("", {**FACTS, "offers": offers, "protocol": PROTOCOL})
        self.job: Job = world.job(self.task)
        claimed = self.far.call(f"/jobs/{self.job.pk}/claim").json()["started"]
        self.lease = claimed["lease"]

    def ask(self, job: int, lease: Any, **body: Any) -> Any:
        return self.far.call(f"/jobs/{job}/ask", body, lease)


def test_a_runner_asks_about_its_own_job_alone(world: World, tmp_path: Path) -> None:
    """All questions × jobs of the same project and of another owner × leases: nothing of them is said."""
    mine = Asking(world, tmp_path / "mine")
    same = Asking(world, tmp_path / "same")
    rival = Asking(World(make_project("other", "rival"), world.worker), tmp_path / "rival")
    Task.objects.filter(pk__in=[same.task.pk, rival.task.pk]).update(title="Canary")
    before = Event.objects.count()
    for question in QUESTIONS:
        body = {"question": question, "outcome": {"exit_code": 0}}
        assert mine.ask(mine.job.pk, mine.lease, **body).status_code == 200
        for other in (same, rival):
            for lease in (mine.lease, other.lease, uuid.uuid4()):
                answer = mine.ask(other.job.pk, lease, **body)
                assert answer.status_code in (404, 409) and "Canary" not in answer.text
        # What names another task besides is no part of the question
        extra = {"task": same.task.name, "job": same.job.pk, "project": "other", "lease": same.lease}
        answer = mine.far.call(f"/jobs/{mine.job.pk}/ask", body | extra, mine.lease)
        assert answer.status_code == 200 and "Canary" not in answer.text
    assert Event.objects.count() == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": "vote"}, 400),
        ({"question": "get_task\ud800"}, 400),
        ({}, 400),
        ({"question": "what_if", "outcome": []}, 400),
        ({"question": "what_if", "outcome": {}}, 422),
        ({"question": "what_if", "outcome": {"exit_code": 2**40}}, 422),
        ({"question": "what_if", "outcome": {"exit_code": 0, "facts": {"odd": {}}}}, 422),
        ({"question": "what_if", "outcome": {"exit_code": 0, "output": "\ud800"}}, 422),
        ({"question": "gate_checks", "outcome": {"exit_code": 0, "output": {"a": "b\0"}}}, 422),
        (b"{", 400),
        (b'{"question": "what_if", "outcome": ' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"}", 422),
    ],
)
def test_what_cannot_be_read_is_refused(world: World, tmp_path: Path, body: Any, status: int) -> None:
    mine = Asking(world, tmp_path / "mine")
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = mine.far.call(f"/jobs/{mine.job.pk}/ask", text, mine.lease)
    assert answer.status_code in (status, 400, 422), answer.text


def test_so_many_questions_a_minute_and_none_once_it_is_over(world: World, tmp_path: Path) -> None:
    mine = Asking(world, tmp_path / "mine")
    codes = [
        mine.ask(mine.job.pk, mine.lease, question="get_task").status_code for _ in range(MOST_CALLS + 1)
    ]
    assert codes == [200] * MOST_CALLS + [429]
    agent_questions._budgets.clear()
    world.expire(mine.task)
    world.lose(mine.task)
    assert mine.ask(mine.job.pk, mine.lease, question="get_task").status_code == 409


def test_the_same_statements_for_a_task_with_others_around_it(world: World, tmp_path: Path) -> None:
    def count(asking: Asking) -> list[int]:
        found = []
        for question in QUESTIONS:
            with CaptureQueriesContext(connection) as captured:
                answer = asking.ask(asking.job.pk, asking.lease, question=question, outcome={"exit_code": 0})
            assert answer.status_code == 200
            found.append(len(captured))
        return found

    few = count(Asking(world, tmp_path / "few"))
    for _ in range(10):
        task_of(world)
    assert count(Asking(world, tmp_path / "many")) == few


PUSH = {"command": "git push origin main"}


def permission(asking: Asking, job: int, lease: Any, **fields: Any) -> Any:
    call = {"key": str(uuid.uuid4()), "tool": "Bash", "arguments": PUSH, "digest": "0" * 64} | fields
    return asking.far.call(f"/jobs/{job}/permission", json.dumps(call).encode(), lease)


def test_a_call_is_allowed_at_the_server_and_made_at_the_runner(world: World, tmp_path: Path) -> None:
    body = (
        f"answer = Client().call('permission', tool_name='Bash', input={PUSH!r})\n"
        "open('made.txt', 'w').write('x')\nend()\n"
    )
    task = task_of(world, ask=["git push"])

    def allow() -> None:
        try:
            row = until(ToolPermission.objects.filter(task=task).first)
            engine.answer_tool_permission(row.pk, user=world.operator, digest=row.digest, allow=True)
        finally:
            connections.close_all()

    thread = threading.Thread(target=allow)
    thread.start()
    far_away(world, tmp_path, body).work()
    thread.join()
    [(_tool, refused, _structured, text)] = answers(done(task, "implement"))
    assert (refused, json.loads(text)) == (False, {"behavior": "allow", "updatedInput": PUSH})


def test_a_runner_asks_permission_for_its_own_job_alone(world: World, tmp_path: Path) -> None:
    mine = Asking(world, tmp_path / "mine", ask=["git push"])
    same = Asking(world, tmp_path / "same", ask=["git push"])
    rival = Asking(World(make_project("other", "rival"), world.worker), tmp_path / "rival", ask=["git push"])
    for other in (same, rival):
        for lease in (mine.lease, other.lease, uuid.uuid4()):
            assert permission(mine, other.job.pk, lease).status_code in (404, 409)
    assert not ToolPermission.objects.exists()
    assert permission(mine, mine.job.pk, mine.lease).json() == {"state": "open", "reason": ""}


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "no"},
        {"tool": ""},
        {"tool": "x" * 201},
        {"tool": "a\0b"},
        {"arguments": []},
        {"arguments": {"command": "git push \ud800"}},
        {"arguments": {"command": "git push", "x": "\0"}},
        {"arguments": {"command": "ls"}},
        {"digest": "short"},
    ],
)
def test_a_call_that_cannot_be_asked_about_is_refused(
    world: World, tmp_path: Path, fields: dict[str, Any]
) -> None:
    mine = Asking(world, tmp_path / "mine", ask=["git push"])
    assert permission(mine, mine.job.pk, mine.lease, **fields).status_code in (400, 422)
    assert not ToolPermission.objects.exists()
