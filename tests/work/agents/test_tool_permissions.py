"""Calls of tools that an agent at work has to be allowed: a real worker, the real pipe, and people who answer."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Invalid
from pipelines.models import Event, Job, Task, ToolPermission, User
from pipelines.ports.vault import store
from pipelines.routing.basics.canonical import canonical_digest
from pipelines.routing.document.work.references import SECRET
from pipelines.work.agents import permission_desk
from pipelines.work.spec.agent_call import PermissionRequest
from pipelines.work.transport.local.permission_requests import answer_permission_request
from pipelines.work.transport.protocol import LeaseLost, QuestionRefused
from tests.factories import World, make_project
from tests.reviews.inbox_items import act, found
from tests.reviews.test_pages import as_
from tests.waiting import LONG, eventually, until
from tests.work.agents.test_task_tools import search
from tests.work.agents.tool_client import answers
from tests.work.driving import Bench, done, in_thread, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
PUSH = {"command": "git push origin main", "description": "Push"}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission_desk, "POLL_SECONDS", 0.05)


def asks(*inputs: dict[str, Any], tool: str = "Bash") -> str:
    calls = "".join(
        f"c.call('permission', tool_name={tool!r}, input={each!r}, tool_use_id='t')\n" for each in inputs
    )
    return f"c = Client()\n{calls}open('made.txt', 'w').write('x')\nend()\n"


def task_of(world: World, station: dict[str, Any] | None = None, **work: Any) -> Task:
    told = {
        "kind": "agent",
        "agent": "claude",
        "prompt": "Do it.",
        "network": "open",
        "ask": ["git push"],
        **work,
    }
    rule = {"id": "on", "when": {"result": "success"}, "to": "ship"}
    implement = {"key": "implement", "work": told, "rules": [rule], **(station or {})}
    version = world.line(stations=[implement, "ship"])
    return world.start(version, title="Fix the answer")


def while_it_works(
    bench: Bench, task: Task, path: Path, body: str, *acts: Callable[[ToolPermission], Any]
) -> None:
    """Each act comes as soon as one more call waits."""
    token = task.tokens.get().pk

    async def work() -> None:
        async with bench.driver(**search(path, body)) as driver:
            driving = asyncio.create_task(driver.drive_token(token))
            for number, act in enumerate(acts):
                rows = ToolPermission.objects.filter(task=task).order_by("pk")
                row = await eventually(lambda: in_thread(rows[number : number + 1].first))  # noqa: B023
                await in_thread(act, row)
            await driving

    asyncio.run(work())


def answer(row: ToolPermission, user: User, *, allow: bool = True, reason: str = "") -> ToolPermission:
    return engine.answer_tool_permission(row.pk, user=user, digest=row.digest, allow=allow, reason=reason)


def told(task: Task) -> list[Any]:
    given = answers(done(task, "implement"))
    assert {structured for _tool, _refused, structured, _text in given} == {None}, "Claude Code refuses such"
    return [json.loads(text) for *_rest, text in given]


def test_a_person_allows_a_call_and_the_agent_makes_it(world: World, bench: Bench, tmp_path: Path) -> None:
    task = task_of(world)
    while_it_works(bench, task, tmp_path, asks(PUSH), lambda row: answer(row, world.operator))
    assert told(task) == [{"behavior": "allow", "updatedInput": PUSH}]
    asked, answered = Event.objects.filter(task=task, kind__startswith="permission.").order_by("seq")
    assert asked.data["call"] == "Bash: git push origin main"
    assert (answered.actor, answered.data["answer"]) == (f"person:{world.operator.pk}", "allowed")
    assert answered.data["digest"] == canonical_digest({"tool": "Bash", "arguments": PUSH})
    log = text_of(done(task, "implement"))
    assert "A person is asked about: Bash git push origin main" in log and "Allowed: Bash" in log


def test_a_denial_comes_with_its_reason_and_the_agent_goes_on(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    task = task_of(world)
    no = lambda row: answer(row, world.operator, allow=False, reason="Not on a Friday.")  # noqa: E731
    while_it_works(bench, task, tmp_path, asks(PUSH), no)
    assert told(task) == [{"behavior": "deny", "message": "Not on a Friday."}]
    assert done(task, "implement").result == "success"


def test_each_call_is_asked_about_anew_and_an_answer_counts_once(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    task = task_of(world)
    second = {"command": "git push --force"}

    def deny(row: ToolPermission) -> None:
        first = ToolPermission.objects.filter(task=task).earliest("pk")
        with pytest.raises(Conflict, match="another call"):  # the answer to one is none to the other
            engine.answer_tool_permission(row.pk, user=world.operator, digest="0" * 64, allow=True)
        with pytest.raises(Conflict, match="allowed already"):
            answer(first, world.operator)
        answer(row, world.operator, allow=False, reason="Twice?")

    acts = (lambda row: answer(row, world.operator), deny, deny)
    while_it_works(bench, task, tmp_path, asks(PUSH, PUSH, second), *acts)
    assert [each["behavior"] for each in told(task)] == ["allow", "deny", "deny"]


def test_the_line_allows_and_denies_at_once_what_its_lists_name(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    task = task_of(world, allow=["git"], deny=["npm publish"], ask=["git push"])
    inputs = [{"command": text} for text in ("git status", "npm publish", "make all")]
    while_it_works(bench, task, tmp_path, asks(*inputs))
    assert [each["behavior"] for each in told(task)] == ["allow", "deny", "deny"]
    assert not ToolPermission.objects.exists()


def test_time_that_runs_out_denies(world: World, bench: Bench, tmp_path: Path) -> None:
    task = task_of(world)

    def late(row: ToolPermission) -> None:
        ToolPermission.objects.filter(pk=row.pk).update(due_at=timezone.now())
        with pytest.raises(Conflict, match=r"no longer waits|denied already"):
            answer(row, world.operator)

    while_it_works(bench, task, tmp_path, asks(PUSH), late)
    assert told(task) == [{"behavior": "deny", "message": "Nobody answered in time."}]
    assert Event.objects.get(task=task, kind="permission.answered").actor == "engine"


def test_waiting_for_a_person_is_no_silence(world: World, bench: Bench, tmp_path: Path) -> None:
    task = task_of(world, station={"limits": {"idle_timeout": 2}})

    def slow(row: ToolPermission) -> None:
        until(lambda: timezone.now() - row.requested_at > timedelta(seconds=3), "more than the limit")
        answer(row, world.operator)

    while_it_works(bench, task, tmp_path, asks(PUSH), slow)
    assert done(task, "implement").result == "success"


class Waiting:
    """A job whose agent asks by hand."""

    def __init__(self, world: World, **work: Any) -> None:
        self.world, self.task = world, task_of(world, **work)
        self.job: Job = world.started(self.task)

    def ask(self, tool: str = "Bash", key: uuid.UUID | None = None, job: int = 0, **arguments: Any) -> Any:
        self.key = key or uuid.uuid4()
        try:
            digest = canonical_digest({"tool": tool, "arguments": arguments})
        except ValueError:
            digest = "0" * 64
        assert self.job.lease_key is not None
        request = PermissionRequest(self.key, tool, arguments, digest)
        return answer_permission_request(job or self.job.pk, self.job.lease_key, request)

    @property
    def row(self) -> ToolPermission:
        return ToolPermission.objects.get(key=self.key)


def test_of_two_people_at_once_the_first_counts_and_the_other_is_told(world: World) -> None:
    waiting = Waiting(world)
    waiting.ask(**PUSH)
    ready, outcomes = threading.Barrier(2), list[str]()

    def one(user: User, allow: bool) -> None:
        try:
            ready.wait(LONG)
            answer(waiting.row, user, allow=allow, reason="No.")
            outcomes.append("done")
        except Conflict as conflict:
            outcomes.append(f"told of {conflict.by}")
        finally:
            connections.close_all()

    people = ((world.operator, True), (world.admin, False))
    threads = [threading.Thread(target=one, args=each) for each in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["done", f"told of {waiting.row.answered_by}"]
    assert Event.objects.filter(task=waiting.task, kind="permission.answered").count() == 1


def test_an_answer_is_for_no_other_call_task_or_attempt(world: World) -> None:
    rival = World(make_project("other", "rival"), world.worker)
    waiting, same, theirs = Waiting(world), Waiting(world), Waiting(rival)
    assert waiting.ask(**PUSH).state == "open"
    key = waiting.key
    answer(waiting.row, world.operator)
    assert waiting.ask(key=key, **PUSH).state == "allowed", "the answer got lost, and is asked for again"
    for tool, arguments in (("Bash", {"command": "git push --force"}), ("Other", PUSH)):
        with pytest.raises((LeaseLost, QuestionRefused)):
            waiting.ask(tool, key=key, **arguments)
    assert same.ask(key=key, **PUSH).state == theirs.ask(key=key, **PUSH).state == "open"
    for other in (same, theirs):
        with pytest.raises(LeaseLost):
            waiting.ask(job=other.job.pk, key=key, **PUSH)


@pytest.mark.parametrize("ends", ["cancelled", "lost", "reported"])
def test_what_nobody_waits_for_any_more_cannot_be_answered(world: World, ends: str) -> None:
    waiting = Waiting(world)
    waiting.ask(**PUSH)
    assert [one.kind.key for one in found(world.operator)] == ["permission"]
    if ends == "cancelled":
        engine.cancel(waiting.task.pk, actor=engine.Actor.person(world.admin))
    elif ends == "lost":
        world.expire(waiting.task)
        world.lose(waiting.task)
    else:
        world.report(waiting.task, {"exit_code": 0})
    assert "permission" not in [one.kind.key for one in found(world.operator)]
    with pytest.raises(Conflict, match="no longer waits"):
        answer(waiting.row, world.operator)
    with pytest.raises(LeaseLost):
        waiting.ask(**PUSH)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "git push " + "x" * 70_000}),
        ("Bash", {"command": "git push", "more": "a\0b"}),
        ("Bash", {"command": "git push", "more": "\ud800"}),
        ("Bash", {"command": "ls"}),
        ("Bash", {}),
    ],
    ids=["longer than a person reads", "NUL", "surrogate", "not asked about", "no command"],
)
def test_what_nobody_can_be_asked_about_is_refused(
    world: World, tool: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises((QuestionRefused, Invalid)):
        Waiting(world).ask(tool, **arguments)
    assert not ToolPermission.objects.exists()


def test_one_attempt_asks_so_many_at_once(world: World) -> None:
    waiting = Waiting(world)
    for _ in range(20):
        waiting.ask(**PUSH)
    with pytest.raises(QuestionRefused, match="more than 20"):
        waiting.ask(**PUSH)


def test_a_secret_in_a_call_is_shown_to_nobody(world: World) -> None:
    place = store.ValuePlace(world.project)
    store.create_or_replace_value(
        place, "ANTHROPIC_API_KEY", "canary-77", kind=SECRET, by=world.admin, now=timezone.now()
    )
    waiting = Waiting(world)
    waiting.ask(command="git push https://u:canary-77@example.com/x")
    assert "canary-77" not in json.dumps(waiting.row.arguments)
    events = Event.objects.filter(task=waiting.task).values_list("data", flat=True)
    assert "canary-77" not in json.dumps(list(events))


# In the inbox, and by the API


def test_it_is_answered_in_place_and_whoever_comes_second_is_told(world: World) -> None:
    waiting = Waiting(world)
    waiting.ask(**PUSH)
    [one], [also] = found(world.operator), found(world.admin)
    assert [verb.key for verb in one.verbs] == ["allow", "deny"]
    text = as_(world.operator).get(reverse("need-act", args=["permission", waiting.row.pk])).content.decode()
    assert "git push origin main" in text and waiting.row.digest in text
    assert act(world.operator, one, "deny", digest=waiting.row.digest).status_code == 422, "it takes a reason"
    wrong = act(world.operator, one, "allow", digest="0" * 64)
    assert wrong.status_code == 409 and "another call" in wrong.content.decode()
    assert act(world.operator, one, "allow", digest=waiting.row.digest).status_code == 200
    second = act(world.admin, also, "deny", digest=waiting.row.digest, reason="No.")
    assert second.status_code == 409 and f"Allowed by {world.operator}." in second.content.decode()
    assert waiting.row.state == "allowed" and found(world.operator) == found(world.viewer) == []


def test_the_same_statements_for_one_call_and_for_many(world: World) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            found(world.operator)
        return len(captured)

    waiting = Waiting(world)
    waiting.ask(**PUSH)
    few = count()
    for _ in range(10):
        waiting.ask(**PUSH)
    Waiting(world).ask(**PUSH)
    assert count() == few


def test_a_client_lists_and_answers_what_agents_asked(world: World) -> None:
    waiting = Waiting(world)
    waiting.ask(**PUSH)
    client = Client(
        headers={"Authorization": f"Bearer {world.token_of(world.operator, 'read', 'report')[1]}"}
    )
    owner, project = world.project.owner.key, world.project.key
    line, name = waiting.task.line.key, waiting.task.name
    base = f"/api/v1/owners/{owner}/projects/{project}/stages/{line}/tasks/{name}/permissions"
    [row] = client.get(base).json()
    assert (row["tool"], row["arguments"], row["state"]) == ("Bash", PUSH, "open")
    where = f"{base}/{row['id']}/answer"

    def post(**body: Any) -> Any:
        return client.post(where, body, content_type="application/json")

    assert post(digest=row["digest"], allow=False).status_code == 400
    assert post(digest="1" * 64, allow=True).status_code == 409
    assert post(digest=row["digest"], allow="maybe").status_code in (400, 422)
    assert post(digest=row["digest"], allow=False, reason="a\0").status_code in (400, 422)
    answered = post(digest=row["digest"], allow=False, reason="No.")
    assert answered.status_code == 200 and answered.json()["by"] == str(world.operator)
    assert post(digest=row["digest"], allow=True).status_code == 409
    assert waiting.row.state == "denied"
