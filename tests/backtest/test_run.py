"""A back-test over many tasks: what is selected, what is counted, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines.errors import Invalid, NotFound
from pipelines.lines.backtest import (
    BacktestResult,
    BacktestTask,
    Progress,
    Selection,
    back_test_events,
    backtest_result,
    backtest_target,
    read_selection,
    recorded_decisions,
    run,
    target_of_document,
)
from pipelines.models import LineVersion, Task
from tests.backtest.trying import again, decisions
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db


def line(to: str = "check", end: str = "completed") -> dict[str, Any]:
    return document(
        [
            station(
                "build", {"id": "on", "when": {"result": "success"}, "to": to}, {"id": "off", "to": "failed"}
            ),
            station("check", {"id": "done", "to": end}),
            "other",
        ]
    )


@pytest.fixture
def tasks(world: World) -> Callable[..., list[Task]]:
    """Tasks that went build → check → end, or failed at once."""

    def make(count: int, version: LineVersion | None = None, result: str = "success") -> list[Task]:
        version = version or world.line(line())
        made = [world.start(version) for _ in range(count)]
        for task in made:
            world.report(task, {"result": result})
            if result == "success":
                world.report(task)
        return made

    return make


def test_nothing_recorded_is_a_result_of_nothing(world: World) -> None:
    found = again(world.line(line()), line())
    assert (found.result["decisions"]["total"], found.result["cells"], found.tasks) == (0, [], [])


def test_the_same_version_comes_out_the_same(world: World, tasks: Callable[..., list[Task]]) -> None:
    made = tasks(3)
    found = again(made[0].pinned, line())
    assert (found.counts, found.tasks, found.result["tasks"]["same"]) == ({"same": 6}, [], 3)


def test_each_task_is_told_by_its_worst_verdict_and_first_divergence(
    world: World, tasks: Callable[..., list[Task]]
) -> None:
    [made] = tasks(1)
    [told] = again(made.pinned, line("other")).tasks
    assert (told["task"], told["verdict"], told["decisions"]) == (made.name, "different", 2)
    assert (told["first"]["station"], told["first"]["then"]["to"], told["first"]["now"]["to"]) == (
        "build",
        ["check"],
        ["other"],
    )


def test_what_comes_after_a_divergence_is_decided_again_and_marked(
    world: World, tasks: Callable[..., list[Task]]
) -> None:
    tasks(2)
    found = again(world.line(line("other", "cancelled")), line("other", "cancelled"))
    assert (found.counts, found.result["after_divergence"]) == ({"different": 4}, 2)
    marks = {
        cell["station"]: {sample["after_divergence"] for sample in cell["samples"]}
        for cell in found.result["cells"]
    }
    assert marks == {"build": {False}, "check": {True}}


def test_alike_decisions_share_a_cell_with_a_few_tasks_to_look_at(
    world: World, tasks: Callable[..., list[Task]]
) -> None:
    made = tasks(backtest_result.SAMPLES + 2)
    [cell] = again(made[0].pinned, line(end="cancelled")).result["cells"]
    assert (cell["count"], cell["station"], cell["verdict"]) == (
        backtest_result.SAMPLES + 2,
        "check",
        "different",
    )
    newest = [task.name for task in reversed(made)]
    assert [sample["task"] for sample in cell["samples"]] == newest[: backtest_result.SAMPLES]


def test_a_cell_says_stations_gates_and_rules_by_name(world: World) -> None:
    rules = [{"id": "x-1", "when": {"result": "failure"}, "to": "failed"}, {"id": "x-2", "to": "s2"}]
    old = document([station("s1", *rules, name="Build"), station("s2", name="Check")])
    gates = [{"key": "g1", "name": "A look", "mode": "manual"}]
    asking = [{**rules[1], "label": "Fine", "gates": ["g1"]}, {"id": "x-3", "to": "s1"}]
    new = document([station("s1", *asking, name="Build"), station("s2", name="Check")], gates=gates)
    task = world.start(world.line(old))
    world.report(task)
    [cell] = again(task.pinned, new).result["cells"]
    assert cell["words"] == {
        "station": "Build",
        "then": {"to": ["Check"], "rule": "2", "detail": ""},
        "now": {"to": ["Check"], "rule": "1 · Fine", "detail": ""},
        "message": "Somebody is asked at A look, which nobody was then.",
    }


def test_a_station_that_is_gone_is_still_said_by_name(world: World) -> None:
    task = world.start(world.line(document([station("s1", name="Build")])))
    world.report(task)
    [cell] = again(task.pinned, document([station("s2", name="Check")])).result["cells"]
    assert (cell["words"]["station"], cell["words"]["now"]) == ("Build", None)
    assert cell["words"]["message"].startswith("This version has no station Build. ")


def test_the_kinds_of_cells_are_bounded_and_the_rest_counted(
    world: World, tasks: Callable[..., list[Task]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backtest_result, "MOST_CELLS", 1)
    made = tasks(2)
    found = again(made[0].pinned, line("other", "cancelled")).result
    assert (len(found["cells"]), found["more_cells"], found["decisions"]["different"]) == (1, 2, 4)


def test_progress_grows_to_the_total_and_the_result_is_last(
    world: World, tasks: Callable[..., list[Task]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "STEP", 2)
    made = tasks(3)
    told = list(back_test_events(made[0].line, target_of_document(line()), Selection()))
    assert [(each.done, each.total) for each in told if isinstance(each, Progress)] == [
        (0, 6),
        (2, 6),
        (4, 6),
        (6, 6),
        (6, 6),
    ]
    assert isinstance(told[-1], BacktestResult)


def test_it_says_the_same_every_time_over_pages_of_any_size(
    world: World, tasks: Callable[..., list[Task]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tasks(5)
    whole = again(made[0].pinned, line("other"))
    monkeypatch.setattr(recorded_decisions, "PAGE", 2)
    monkeypatch.setattr(recorded_decisions, "ROWS", 1)
    assert again(made[0].pinned, line("other")) == whole
    assert [task["task"] for task in whole.tasks] == [task.name for task in reversed(made)]


def test_it_writes_nothing_and_locks_nothing(world: World, tasks: Callable[..., list[Task]]) -> None:
    made = tasks(2)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        again(made[0].pinned, line("other"))
    said = [query["sql"].upper() for query in asked]
    assert said and not [
        sql for sql in said if "FOR UPDATE" in sql or not sql.startswith(("SELECT", "DECLARE"))
    ]


def test_closing_it_ends_the_reading(
    world: World, tasks: Callable[..., list[Task]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "STEP", 1)
    monkeypatch.setattr(recorded_decisions, "PAGE", 1)
    made = tasks(4)
    told = back_test_events(made[0].line, target_of_document(line()), Selection())
    with CaptureQueriesContext(connection) as asked, closing(told):
        assert [type(next(told)) for _ in range(2)] == [Progress, Progress]
    # How many there are, the first page and its decisions; the other pages were never asked for.
    assert len([query for query in asked if "pipelines_decision" in query["sql"]]) == 2


# What is selected


def test_versions_narrow_it_to_what_they_decided(world: World, tasks: Callable[..., list[Task]]) -> None:
    first = world.line(line())
    tasks(1, first)
    second = world.line(line("other"))
    tasks(2, second)
    assert again(first, line(), versions=(1,)).counts == {"same": 2}
    assert again(first, line(), versions=(2,)).result["decisions"]["total"] == 4
    assert again(first, line()).result["tasks"]["total"] == 3


def test_running_and_ended_tasks_are_told_apart(world: World, tasks: Callable[..., list[Task]]) -> None:
    version = world.line(line())
    tasks(2, version)
    world.report(world.start(version))
    assert again(version, line(), tasks="running").result["tasks"]["total"] == 1
    assert again(version, line(), tasks="ended").result["tasks"]["total"] == 2


def test_the_newest_tasks_and_the_limit_take_the_newest(
    world: World, tasks: Callable[..., list[Task]]
) -> None:
    made = tasks(4)
    two = again(made[0].pinned, line("other"), last=2)
    assert [task["task"] for task in two.tasks] == [made[3].name, made[2].name]
    three = again(made[0].pinned, line("other"), limit=3)
    assert (three.result["decisions"]["total"], three.result["limited"]) == (3, True)
    assert [task["task"] for task in three.tasks] == [made[3].name, made[2].name]
    assert again(made[0].pinned, line("other"), limit=8).result["limited"] is False


def test_since_and_until_are_about_when_it_was_decided(
    world: World, tasks: Callable[..., list[Task]]
) -> None:
    [made] = tasks(1)
    at = decisions(made)[1].at
    assert again(made.pinned, line(), since=at).counts == {"same": 1}
    assert again(made.pinned, line(), until=at).counts == {"same": 1}
    assert again(made.pinned, line(), since=timezone.now() + timedelta(days=1)).counts == {}


def test_other_lines_are_left_alone(world: World, tasks: Callable[..., list[Task]]) -> None:
    tasks(1)
    other = world.line({**line(), "key": "another"})
    assert again(other, line()).counts == {}


# What is given as text


def test_a_selection_is_read_from_texts() -> None:
    given = {
        "versions": "1, 2",
        "since": "2026-01-31",
        "until": "2026-02-01T10:00:00+02:00",
        "last": "5",
        "limit": "7",
    }
    found = read_selection({**given, "tasks": "ended"})
    assert (found.versions, found.last, found.limit, found.tasks) == ((1, 2), 5, 7, "ended")
    assert found.since and found.since.isoformat() == "2026-01-31T00:00:00+00:00"
    assert found.until and found.until.isoformat() == "2026-02-01T08:00:00+00:00"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("versions", "one"),
        ("versions", "0"),
        ("versions", "99999999999"),
        ("since", "yesterday"),
        ("since", "2026-13-01"),
        ("until", "0001-01-01T00:00:00+23:00"),
        ("last", "0"),
        ("last", "-1"),
        ("limit", "1000001"),
        ("limit", "٣"),
        ("tasks", "some"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(name: str, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_selection({name: text})
    assert refused.value.path == name


def test_a_target_is_the_draft_a_version_or_a_document(world: World) -> None:
    version = world.line(line())
    assert [backtest_target(version.line, to).label for to in ("draft", "live", "1")] == ["draft", "1", "1"]
    for missing in ("2", "x", "-1", "99999999999"):
        with pytest.raises(NotFound):
            backtest_target(version.line, missing)
    with pytest.raises(Invalid):
        target_of_document({**line(), "stations": [{"key": "build", "work": {"kind": "command"}}]})


def test_tasks_that_come_out_the_same_are_not_told(world: World, tasks: Callable[..., list[Task]]) -> None:
    version = world.line(line())
    tasks(2, version)
    tasks(1, version, "failure")
    told = [
        each
        for each in back_test_events(version.line, target_of_document(line("other")), Selection())
        if isinstance(each, BacktestTask)
    ]
    assert len(told) == 2
