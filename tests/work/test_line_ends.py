"""Tasks that start when a task of another line has ended: mapped, once, never in a circle, and by nobody's own word."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from pipelines import engine
from pipelines.errors import Forbidden, Invalid
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, LineVersion, Task, Trigger, User
from pipelines.work.scheduler import tickets as ticket_tasks
from pipelines.work.triggers import line_end_starts, starting
from tests.factories import World, make_member, make_world, station
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
REQUEST = [
    {"key": "request", "label": "Request", "type": "long_text", "required": True},
    {"key": "branch", "label": "Branch", "type": "text"},
]
PATHS = {"inputs": {"request": "outputs.summary", "branch": "inputs.branch"}, "title": "task.title"}


def build_line(world: World, key: str = "build") -> LineVersion:
    rules = [
        {"id": "ok", "when": {"result": "success"}, "to": "completed"},
        {"id": "no", "when": {"result": "failure"}, "to": "failed"},
    ]
    return world.line(
        key=key,
        stations=[station("make", *rules, output_keys=["summary"])],
        inputs=[
            {"key": "branch", "label": "Branch", "type": "text"},
            {"key": "token", "label": "Token", "type": "secret"},
        ],
    )


def deploy_line(world: World, key: str = "deploy") -> LineVersion:
    return world.line(
        key=key,
        stations=[station("ship", {"id": "on", "to": "completed", "gates": ["review"]})],
        gates=[{"key": "review"}],
        inputs=REQUEST,
    )


def after(
    world: World,
    source: str = "build",
    version: LineVersion | None = None,
    by: User | None = None,
    **more: Any,
) -> Trigger:
    options = {"line": source, **PATHS, **more.pop("options", {})}
    line = (version or deploy_line(world)).line
    return triggers.add_trigger(line, "line_end", TriggerRequest(options, **more), by=by or world.operator)


def build(world: World, version: LineVersion, outcome: dict[str, Any] | None = None, **more: Any) -> Task:
    """A task of the line that ended, with an output."""
    task = world.start(version, title="Fix the door", inputs={"branch": "main"}, **more)
    world.report(task, outcome or {"result": "success", "output": {"summary": "All green"}})
    return task


def tickets() -> list[dict[str, int]]:
    """The tickets that the ends wrote."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT args FROM procrastinate_jobs WHERE task_name = 'pipelines.start_after' ORDER BY id"
        )
        return [json.loads(row[0]) for row in cursor.fetchall()]


def start_all() -> list[str]:
    return [line_end_starts.start_task_after_end_and_return_outcome(**ticket) for ticket in tickets()]


def log(trigger: Trigger) -> list[tuple[str, str, str]]:
    return list(trigger.deliveries.order_by("pk").values_list("key", "outcome", "detail"))


def test_the_end_of_a_task_starts_one_of_the_other_line(world: World) -> None:
    version = build_line(world)
    trigger = after(world)
    assert triggers.trigger_name(trigger) == f"After a task of {version.line.name} completes"
    source = build(world, version)
    assert start_all() == ["started"]
    task = Task.objects.get(line__key="deploy")
    assert (task.title, task.inputs) == ("Fix the door", {"request": "All green", "branch": "main"})
    assert task.requester == world.operator and task.follows == source
    assert log(trigger) == [(source.name, "started", "")]
    assert trigger.deliveries.get().task == task


def test_a_ticket_that_comes_again_starts_nothing(world: World) -> None:
    version, trigger = build_line(world), after(world)
    build(world, version)
    assert start_all() == ["started"] and start_all() == ["repeated"]
    assert Task.objects.filter(line__key="deploy").count() == 1
    assert [outcome for _key, outcome, _detail in log(trigger)] == ["started", "repeated"]


@pytest.mark.parametrize(
    ("state", "result", "starts"),
    [
        ("completed", "success", 1),
        ("completed", "failure", 0),
        ("failed", "failure", 1),
        ("failed", "success", 0),
        ("cancelled", "success", 0),
        ("any", "failure", 1),
    ],
)
def test_only_the_end_that_it_waits_for_starts_one(
    world: World, state: str, result: str, starts: int
) -> None:
    version = build_line(world)
    after(world, options={"state": state, "inputs": {"request": "task.state"}})
    build(world, version, {"result": result})
    assert start_all() == ["started"] * starts


def test_a_cancelled_task_starts_one_that_waits_for_it(world: World) -> None:
    version = build_line(world)
    after(world, options={"state": "cancelled", "inputs": {"request": "task.reason"}})
    task = world.start(version, inputs={})
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No longer needed")
    assert start_all() == ["started"]
    assert Task.objects.get(line__key="deploy").inputs["request"] == "No longer needed"


def test_what_it_cannot_map_is_a_failed_delivery_with_its_remedy(world: World) -> None:
    version, trigger = build_line(world), after(world)
    source = build(world, version, {"result": "success", "output": {}})
    assert start_all() == ["failed"]
    [(key, outcome, detail)] = log(trigger)
    assert (key, outcome) == (source.name, "failed")
    assert "Request" in detail and "Edit the trigger" in detail


def test_only_if_ignores_the_others(world: World) -> None:
    version = build_line(world)
    trigger = after(world, options={"only_if": "$.outputs[?@.summary == 'x']"})
    build(world, version)
    assert start_all() == ["ignored"]
    assert log(trigger)[0][2].endswith("finds nothing in it.")


def test_secrets_of_the_ended_task_are_not_there(world: World) -> None:
    version = build_line(world)
    trigger = after(world, options={"inputs": {"request": "inputs.token"}})
    build(world, version)
    assert start_all() == ["failed"]
    assert "Request" in log(trigger)[0][2]


def test_one_at_a_time_ignores_the_next_end(world: World) -> None:
    version, trigger = build_line(world), after(world, one_at_a_time=True)
    for _ in range(2):
        build(world, version)
    assert start_all() == ["started", "ignored"]
    assert log(trigger)[1][2].endswith("has not ended yet.")


def test_a_paused_one_owes_nothing(world: World) -> None:
    version, trigger = build_line(world), after(world)
    build(world, version)
    triggers.set_paused(trigger, True, by=world.operator)
    assert start_all() == ["ignored"], "it ended before the pause"
    build(world, version)
    assert len(tickets()) == 1


def test_a_changed_trigger_no_longer_waits_for_what_ended(world: World) -> None:
    version, trigger = build_line(world), after(world)
    build(world, version)
    request = TriggerRequest({"line": "build", "state": "failed", **PATHS})
    triggers.change_trigger(trigger, request, by=world.operator)
    assert start_all() == ["gone"] and log(trigger) == []
    triggers.delete_trigger(trigger, by=world.operator)
    assert start_all() == ["gone"]


def test_a_fault_of_the_server_pauses_it_and_is_recorded(world: World) -> None:
    version, trigger = build_line(world), after(world)
    source = build(world, version)
    line_end_starts.pause_and_record_fault(trigger.pk, source.pk)
    stored = Trigger.objects.get()
    assert stored.paused_at is not None and log(trigger) == [(source.name, "failed", starting.FAULT)]


@pytest.mark.django_db(transaction=True)
def test_a_worker_starts_it_and_survives_a_fault(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    version, trigger = build_line(world), after(world)
    for _ in range(2):
        build(world, version)
    first, second = tickets()
    asyncio.run(ticket_tasks.start_after(**first))
    assert Task.objects.filter(line__key="deploy").count() == 1

    def broken(*_arguments: object) -> str:
        raise RuntimeError

    monkeypatch.setattr(line_end_starts, "start_task_after_end_and_return_outcome", broken)
    asyncio.run(ticket_tasks.start_after(**second))
    assert [outcome for _key, outcome, _detail in log(trigger)] == ["started", "failed"]
    assert Trigger.objects.get().paused_at is not None


def test_a_rolled_back_end_starts_nothing(world: World) -> None:
    version = build_line(world)
    after(world)
    task = world.start(version, inputs={})
    with suppress(RuntimeError), transaction.atomic():
        world.report(task)
        assert len(tickets()) == 1
        raise RuntimeError
    assert tickets() == []


def test_lines_that_would_start_each_other_are_refused(world: World) -> None:
    build_line(world)
    deploy = deploy_line(world)
    check = world.line(key="check", name="Check", stations=[station("look", kind="manual")])
    after(world, "build", deploy)
    after(world, "deploy", check, options={"inputs": {}, "title": ""})
    build_version = Line.objects.get(key="build").live
    assert build_version is not None
    with pytest.raises(Invalid) as refused:
        after(world, "check", build_version, options={"inputs": {}})
    [problem] = refused.value.problems
    assert problem.path == "options.line"
    names = [Line.objects.get(key=key).name for key in ("check", "build", "deploy", "check")]
    assert " → ".join(names) in problem.message and problem.hint
    with pytest.raises(Invalid, match="itself"):
        after(world, "build", build_version, options={"inputs": {}})
    assert Trigger.objects.count() == 2


def test_a_change_that_closes_a_circle_is_refused(world: World) -> None:
    build_version, deploy = build_line(world), deploy_line(world)
    other = world.line(key="other", stations=[station("look", kind="manual")])
    after(world, "build", deploy)
    trigger = after(world, "other", build_version, options={"inputs": {}})
    request = TriggerRequest({"line": "deploy", "inputs": {}})
    with pytest.raises(Invalid, match="each other"):
        triggers.change_trigger(trigger, request, by=world.operator)
    assert Trigger.objects.get(pk=trigger.pk).source == other.line


@pytest.mark.django_db(transaction=True)
def test_of_two_that_close_a_circle_at_once_one_is_refused(world: World) -> None:
    pair = {"build": build_line(world), "deploy": deploy_line(world)}
    together = threading.Barrier(2)

    def save(source: str, started: str) -> str:
        together.wait(LONG)
        try:
            after(world, source, pair[started], options={"inputs": {}, "title": ""}, inputs=filled[started])
        except Invalid:
            return "refused"
        finally:
            connection.close()
        return "saved"

    filled = {"build": {}, "deploy": {"request": "Ship it"}}
    with ThreadPoolExecutor(2) as threads:
        ways = [threads.submit(save, "build", "deploy"), threads.submit(save, "deploy", "build")]
        assert sorted(way.result() for way in ways) == ["refused", "saved"]


def test_a_line_of_another_project_is_none(world: World) -> None:
    foreign = make_world()
    foreign.line(key="theirs", stations=[station("work")])
    for key in ("theirs", "no such", "\0"):
        with pytest.raises(Invalid) as refused:
            after(world, key)
        assert refused.value.problems[0].path == "options.line"


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"line": ""}, "options.line"),
        ({"line": 7}, "options.line"),
        ({"state": "gone"}, "options.state"),
        ({"state": ["completed"]}, "options.state"),
        ({"requester": "task.requester"}, "options.requester"),
        ({"inputs": {"request": "$["}}, "options.inputs.request"),
        ({"inputs": {"nothing": "task.title"}}, "options.inputs.nothing"),
        ({"only": "x"}, "options.only"),
    ],
)
def test_one_that_could_start_nothing_is_not_saved(world: World, options: Any, path: str) -> None:
    build_line(world)
    with pytest.raises(Invalid) as refused:
        after(world, options=options)
    assert path in [problem.path for problem in refused.value.problems]


@pytest.mark.parametrize("part", ["set_up", "wrote", "requested", "did_the_work"])
def test_nobody_who_let_it_start_approves_it_alone(world: World, part: str) -> None:
    mallory = make_member(world.project, "admin")
    version = (
        world.line(
            key="build",
            stations=[station("make", {"id": "ok", "to": "completed"}, kind="manual")],
            inputs=[{"key": "branch", "type": "text"}],
        )
        if part == "did_the_work"
        else build_line(world)
    )
    trigger = after(
        world,
        by=mallory if part in ("set_up", "wrote") else None,
        options={"inputs": {"request": "task.title"}},
    )
    if part == "wrote":
        for paused in (True, False):
            triggers.set_paused(trigger, paused, by=world.operator)
    source = world.start(version, by=mallory if part == "requested" else None, inputs={})
    worker = {"by": f"person:{mallory.pk}"} if part == "did_the_work" else {}
    world.report(source, **worker)
    assert start_all() == ["started"]
    task = Task.objects.get(line__key="deploy")
    world.report(task)
    with suppress(Forbidden):
        world.vote(task, by=mallory)
    assert world.status(task) == "awaiting_review"
    world.vote(task, by=world.reviewer)
    assert world.status(task) == "completed"


def test_who_lost_the_right_starts_nothing(world: World) -> None:
    version = build_line(world)
    leaving = make_member(world.project, "operator")
    trigger = after(world, by=leaving)
    leaving.memberships.all().delete()
    build(world, version)
    assert start_all() == ["failed"]
    assert "save it in yours" in log(trigger)[0][2]


def test_to_try_one_says_what_the_last_end_would_start(world: World) -> None:
    version, trigger = build_line(world), after(world)
    assert starting.try_out_and_undo(trigger).detail == f"No task of {version.line.name} has ended so yet."
    build(world, version)
    tried = starting.try_out_and_undo(trigger)
    assert tried.outcome == "started" and tried.task is not None and tried.task.title == "Fix the door"
    assert not Task.objects.filter(line__key="deploy").exists() and log(trigger) == []


def test_an_end_takes_as_many_statements_for_few_triggers_as_for_many(world: World) -> None:
    version, counts = build_line(world), []
    deploy = deploy_line(world)
    for number in (1, 20):
        while Trigger.objects.count() < number:
            after(world, version=deploy)
        task = world.start(version, inputs={})
        job = world.started(task)
        with CaptureQueriesContext(connection) as statements:
            engine.report([world.report_of(job)])
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert len(tickets()) == 21


def test_a_trigger_is_asked_for_by_index(world: World) -> None:
    """Also where a project has thousands of schedules."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT id FROM pipelines_trigger WHERE source_id = 7 AND paused_at IS NULL")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Index" in plan and "source" in plan
