"""Limits of lines: at most so many open tasks by key, one more waits for its turn or replaces the oldest."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines import engine
from pipelines.engine.commands import line_limits
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import line_operations
from pipelines.models import AdministrativeAct, Dependency, LineVersion, Task
from pipelines.work.scheduler import timers
from tests.factories import World, station
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db, pytest.mark.moves]


def limited(world: World, most: int | None = 1, key: str = "", over: str = "queue") -> LineVersion:
    version = world.line(
        stations=[
            station(
                "work",
                {"id": "ok", "when": {"result": "success"}, "to": "completed"},
                {"id": "no", "when": {"result": "failure"}, "to": "failed"},
            )
        ],
        inputs=[{"key": "branch", "type": "text"}, {"key": "notes", "type": "long_text"}],
    )
    line_operations.set_limit_of_open_tasks(version.line, most, key=key, over=over, by=world.designer)
    return version


def started(world: World, version: LineVersion, branch: str = "main") -> Task:
    return world.start(version, inputs={"branch": branch})


def statuses(world: World, *tasks: Task) -> list[str]:
    return [world.status(task) for task in tasks]


@pytest.mark.parametrize("result", ["success", "failure"])
def test_one_more_waits_until_the_one_before_has_ended_however(world: World, result: str) -> None:
    version = limited(world)
    first, second, third = (started(world, version) for _ in range(3))
    assert statuses(world, first, second, third) == ["queued", "held", "held"]
    assert timers.run_due_timers_and_triggers()["failed"] == 0
    assert statuses(world, second, third) == ["held", "held"]
    world.report(first, {"result": result})
    timers.run_due_timers_and_triggers()
    assert statuses(world, second, third) == ["queued", "held"]
    engine.cancel(second.pk, actor=engine.ENGINE)
    timers.run_due_timers_and_triggers()
    assert statuses(world, third) == ["queued"]


def test_of_a_limit_of_two_any_end_makes_room_in_order(world: World) -> None:
    version = limited(world, 2)
    a, b, c, d = (started(world, version) for _ in range(4))
    assert statuses(world, a, b, c, d) == ["queued", "queued", "held", "held"]
    world.report(b)
    timers.run_due_timers_and_triggers()
    assert statuses(world, a, c, d) == ["queued", "queued", "held"]
    world.report(c)
    timers.run_due_timers_and_triggers()
    assert statuses(world, a, d) == ["queued", "queued"]


def test_tasks_with_another_key_do_not_wait(world: World) -> None:
    version = limited(world, key="inputs.branch")
    first, other, same = (started(world, version, branch) for branch in ("main", "next", "main"))
    assert statuses(world, first, other, same) == ["queued", "queued", "held"]
    without = [world.start(version, inputs={}) for _ in range(2)]
    assert statuses(world, *without) == ["queued", "held"], "those without a value count together"


def test_a_long_key_counts_by_what_it_says(world: World) -> None:
    version = limited(world, key="inputs.notes")
    tasks = [world.start(version, inputs={"notes": text * 500}) for text in ("a", "b", "a")]
    assert statuses(world, *tasks) == ["queued", "queued", "held"]


def test_one_more_replaces_the_oldest(world: World) -> None:
    version = limited(world, 2, over="replace")
    a, b, c = (started(world, version) for _ in range(3))
    assert statuses(world, a, b, c) == ["cancelled", "queued", "queued"]
    assert Task.objects.get(pk=a.pk).reason == f"Replaced by {c.name}"
    line_operations.set_limit_of_open_tasks(version.line, 1, over="replace", by=world.designer)
    d = started(world, version)
    assert statuses(world, b, c, d) == ["cancelled", "cancelled", "queued"]


def test_what_works_is_replaced_too(world: World) -> None:
    version = limited(world, over="replace")
    first = started(world, version)
    job = world.started(first)
    second = started(world, version)
    assert statuses(world, first, second) == ["cancelled", "queued"]
    assert engine.report([world.report_of(job)])[0].status != "ok"


def test_the_page_says_after_which_it_is_its_turn(world: World) -> None:
    version = limited(world)
    tasks = [started(world, version) for _ in range(6)]
    [token] = tasks[-1].tokens.all()
    assert token.wait["turn"] == [task.name for task in tasks[:-1]]
    assert token.wait["depends_on"] == token.wait["turn"]


def test_a_person_releases_it_before_its_turn(world: World) -> None:
    version = limited(world)
    _first, second = (started(world, version) for _ in range(2))
    [token] = second.tokens.all()
    engine.release(token.pk, user=world.operator, token_version=token.version)
    timers.run_due_timers_and_triggers()
    assert statuses(world, second) == ["queued"]


def test_a_retry_waits_as_any_other(world: World) -> None:
    version = limited(world)
    first = started(world, version)
    world.report(first, {"result": "failure"})
    second = started(world, version)
    retry = engine.start_retry_task(first.pk, station="work", actor=engine.Actor.person(world.operator))
    assert statuses(world, second, retry) == ["queued", "held"]
    world.report(second)
    timers.run_due_timers_and_triggers()
    assert statuses(world, retry) == ["queued"]


def test_a_dependency_counts_besides(world: World) -> None:
    version = limited(world)
    other = world.line(key="other", stations=[station("look")])
    needed, first = world.start(other), started(world, version)
    task = world.start(version, inputs={}, depends_on=[needed.name])
    assert statuses(world, task) == ["held"]
    world.report(first)
    timers.run_due_timers_and_triggers()
    assert statuses(world, task) == ["held"]
    world.report(needed)
    timers.run_due_timers_and_triggers()
    assert statuses(world, task) == ["queued"]


def test_too_many_waiting_refuse_one_more_with_a_remedy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_limits, "MAX_AHEAD", 2)
    version = limited(world)
    for _ in range(3):
        started(world, version)
    with pytest.raises(Conflict, match="Cancel some of them, or raise the limit"):
        started(world, version)
    assert Task.objects.count() == 3


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"most": 0}, "limit.tasks"),
        ({"most": 1001}, "limit.tasks"),
        ({"key": "$["}, "limit.key"),
        ({"key": "x" * 201}, "limit.key"),
        ({"key": "a\0"}, "limit.key"),
        ({"over": "drop"}, "limit.over"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(world: World, change: dict[str, Any], path: str) -> None:
    line = limited(world, None).line
    most, more = change.pop("most", 1), change
    with pytest.raises(Invalid) as refused:
        line_operations.set_limit_of_open_tasks(line, most, by=world.designer, **more)
    assert [problem.path for problem in refused.value.problems] == [path]


def test_who_may_not_design_sets_no_limit_and_each_change_is_recorded(world: World) -> None:
    line = limited(world, None).line
    with pytest.raises(Forbidden):
        line_operations.set_limit_of_open_tasks(line, 1, by=world.operator)
    for _ in range(2):
        line_operations.set_limit_of_open_tasks(line, 1, key="inputs.branch", by=world.designer)
    act = AdministrativeAct.objects.get(kind="line.limited")
    assert act.data["after"] == {"tasks": 1, "key": "inputs.branch", "over": "queue"}


def test_a_start_takes_as_many_statements_without_a_limit_as_before(world: World) -> None:
    """And under one as many for few that wait as for many."""
    version, counts = limited(world), []
    for number in (2, 12):
        while Task.objects.count() < number:
            started(world, version)
        with CaptureQueriesContext(connection) as statements:
            started(world, version)
        counts.append(len(statements))
    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_starts_and_ends_at_once_leave_none_waiting_for_nothing(world: World) -> None:
    """Each end wakes whoever waits for it, also one that starts at that moment; never two work at once."""
    version = limited(world)
    first, together = started(world, version), threading.Barrier(2)

    def end(task: Task) -> None:
        together.wait(LONG)
        try:
            world.report(task)
        finally:
            connection.close()

    def start() -> Task:
        together.wait(LONG)
        try:
            return started(world, version)
        finally:
            connection.close()

    for _ in range(6):
        with ThreadPoolExecutor(2) as threads:
            ended, begun = threads.submit(end, first), threads.submit(start)
            ended.result()
            first = begun.result()
        timers.run_due_timers_and_triggers()
        assert statuses(world, first) == ["queued"]
    assert Dependency.objects.filter(room=None).count() == 0
