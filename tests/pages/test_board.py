"""The board of a line: which cards stand where, and what the strip counts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Job, Line, Task
from pipelines.queries.board import Board, Filters, line_board
from pipelines.work.logs import Writer
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db

OK = {"eval": {"op": "equals", "value": "ok"}}
LINE = document(
    [
        station(
            "build",
            {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 2},
            {"id": "on", "to": "check"},
            limits={"expected": "1m"},
        ),
        station("check", {"id": "ok", "when": OK, "to": "ship", "gates": ["look"]}),
        {"key": "ship", "work": {"kind": "manual"}},
    ],
    gates=[{"key": "look", "name": "A look", "approval": {"who": [{"role": "reviewer", "count": 2}]}}],
    policy={"no_match": "stuck"},
)


def seen(line: Line, *, later: int = 0, **filters: str) -> Board:
    return line_board(line, Filters(**filters), timezone.now() + timedelta(seconds=later))


def where(found: Board) -> dict[str, list[str]]:
    return {column.key: [card.task.title for card in column.cards] for column in found.columns}


def test_columns_stand_in_line_order_with_each_gate_after_its_station(world: World) -> None:
    line = world.line(LINE).line
    assert list(where(seen(line))) == ["station:build", "station:check", "gate:look", "station:ship"]


def test_a_card_stands_where_its_task_is_and_at_a_gate_in_the_gates_column(world: World) -> None:
    version = world.line(LINE)
    world.start(version, title="new")
    one = world.start(version, title="asked")
    world.report(one)
    world.report(one, {"eval": "ok"})
    world.vote(one)
    found = seen(version.line)
    assert where(found) == {
        "station:build": ["new"],
        "station:check": [],
        "gate:look": ["asked"],
        "station:ship": [],
    }
    (card,) = found.columns[2].cards
    assert (card.votes, card.needed) == (1, 2)
    assert [column.collapsed for column in found.columns] == [False, True, False, True]


def test_the_strip_counts_and_narrows(world: World) -> None:
    version = world.line(LINE)
    world.started(world.start(version, title="runs"))
    world.start(version, title="waits for a worker")
    bad = world.start(version, title="stuck")
    world.report(bad)
    world.report(bad, {"eval": "strange"})
    found = seen(version.line)
    assert (
        found.counts["tasks"],
        found.counts["running"],
        found.counts["queued"],
        found.counts["stuck"],
    ) == (3, 1, 1, 1)
    assert where(seen(version.line, show="stuck"))["station:check"] == ["stuck"]
    assert where(seen(version.line, show="running"))["station:build"] == ["runs"]
    assert where(seen(version.line, q="worker"))["station:build"] == ["waits for a worker"]
    assert seen(version.line, show="stuck").counts == found.counts, (
        "the strip counts everything, whatever is shown"
    )


def test_a_card_is_late_past_the_time_that_its_station_expects(world: World) -> None:
    version = world.line(LINE)
    world.started(world.start(version))
    assert seen(version.line).counts["late"] == 0
    late = seen(version.line, later=61)
    assert late.counts["late"] == 1
    assert late.columns[0].cards[0].expected == 60


def test_a_task_past_its_due_time_is_late_at_a_gate_that_is_not(world: World, signed_in: As) -> None:
    """As Home, the table of tasks and the list of lines have it: whichever due time passed."""
    version = world.line(**gated(due={"after": "2d"}))
    task = world.start(version, due_at=timezone.now() + timedelta(hours=1))
    world.report(task)
    assert seen(version.line).counts["late"] == 0
    late = seen(version.line, later=3601)
    [card] = [card for column in late.columns for card in column.cards]
    assert (late.counts["late"], card.late, card.is_gate_overdue) == (1, True, False)
    Task.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    client = signed_in(world.operator)
    page = text(client.get(at(world, "line-live", version.line.key)))
    assert "<b>1</b> late" in page and "overdue by" not in page
    assert task.title in text(client.get(reverse("tasks-everywhere"), {"late": "yes"}))


def test_a_column_of_several_statuses_is_counted_as_one(world: World) -> None:
    version = world.line(LINE)
    tasks = [world.start(version, title=title) for title in ("first", "second", "third")]
    world.started(tasks[1])
    bad = world.start(version, title="stuck")
    world.report(bad)
    world.report(bad, {"eval": "strange"})
    build, check = seen(version.line).columns[:2]
    assert [card.task.title for card in build.cards] == ["first", "second", "third"]
    assert (build.count, build.worst, check.count, check.worst) == (3, 0, 1, 2)
    assert build.oldest == min(token.entered_at for token in tasks[0].tokens.all())
    late = seen(version.line, later=61).columns[0]
    assert (late.count, late.worst) == (3, 1), "one of them is late"
    alone = seen(version.line, later=61, show="late").columns[0]
    assert ([card.task.title for card in alone.cards], alone.count) == (["second"], 1)


def test_a_second_visit_is_a_run_and_a_restart_after_a_crash_an_attempt(world: World) -> None:
    version = world.line(LINE)
    task = world.start(version)
    world.report(task, {"exit_code": 1})
    world.started(task)
    world.lose(task)
    (card,) = seen(version.line).columns[0].cards
    assert (card.run, card.attempt, card.left) == (2, 2, 1)


def test_ends_of_the_last_day_stand_in_the_last_column(world: World) -> None:
    version = world.line(document())
    old, new = world.start(version, title="old"), world.start(version, title="new")
    for task in (old, new):
        world.report(task)
        world.report(task)
    day = timedelta(hours=25)
    found = line_board(version.line, Filters(), timezone.now())
    assert [each.task.title for each in found.ended] == ["new", "old"]
    assert line_board(version.line, Filters(), timezone.now() + day).ended_count == 0


def test_a_task_of_an_earlier_version_keeps_its_column(world: World) -> None:
    version = world.line(LINE)
    world.start(version, title="early")
    world.line(document(stations=["other"]))
    found = seen(Line.objects.get(pk=version.line_id))
    assert where(found) == {"station:other": [], "station:build": ["early"]}
    assert found.columns[1].stale


@pytest.mark.wide
def test_a_board_costs_the_same_few_queries_however_many_cards(
    world: World, django_assert_max_num_queries: object
) -> None:
    version = world.line(LINE)
    for n in range(30):
        world.start(version, title=f"task {n}")
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        found = seen(version.line)
    assert found.columns[0].count == 30


@pytest.mark.wide
def test_a_long_column_shows_its_first_cards_and_says_how_many_more(world: World, signed_in: As) -> None:
    version = world.line(LINE)
    for n in range(42):
        world.start(version, title=f"task {n}")
    page = text(signed_in(world.viewer).get(at(world, "line-live", version.line.key)))
    assert "2 more in Tasks" in page


def test_the_fragment_is_the_board_alone(world: World, signed_in: As) -> None:
    version = world.line(LINE)
    task = world.start(version, title="<i>a title</i>")
    client = signed_in(world.viewer)
    part = text(client.get(at(world, "line-live", version.line.key), {"fragment": "board"}))
    assert "<html" not in part
    assert f'data-task="{task.name}"' in part
    assert "&lt;i&gt;a title" in part


def test_empty_boards_say_what_to_do(world: World, signed_in: As) -> None:
    version = world.line(LINE)
    client = signed_in(world.operator)
    address = at(world, "line-live", version.line.key)
    assert "No tasks on this line" in text(client.get(address))
    world.start(version)
    assert "No open tasks match." in text(client.get(address, {"q": "zzz"}))


def test_the_last_line_of_the_log_stands_on_the_card_of_what_runs(world: World, signed_in: As) -> None:
    version = world.line(LINE)
    task: Task = world.start(version)
    job: Job = world.started(task)
    said = '0.1\tfirst\n0.2\ttest_cache.py 61 %\n0.3\t{"type": "start", "program": "codemod"}\n'
    Writer(job.pk, 1).append_chunk(said, timezone.now())
    board = text(signed_in(world.viewer).get(at(world, "line-live", version.line.key)))
    assert "test_cache.py 61 %" in board
    assert "codemod" not in board, "an event for programs"


def test_a_search_counts_what_it_finds_and_the_last_column_is_narrowed_by_end(
    world: World, signed_in: As
) -> None:
    version = world.line(document())
    for title, outcomes in (
        ("Raise the limit", ["success"] * 2),
        ("Raise the price", ["failure"]),
        ("Other", []),
    ):
        task = world.start(version, title=title)
        for result in outcomes:
            world.report(task, {"result": result})
    assert (seen(version.line).counts["tasks"], seen(version.line, q="Raise").counts["tasks"]) == (1, 0)
    assert seen(version.line, q="limit").ends == {"completed": 1}
    failed = seen(version.line, end="failed")
    assert [each.task.title for each in failed.ended] == ["Raise the price"]
    assert failed.ends == {"completed": 1, "failed": 1}, "each end keeps its count"
    client, board = signed_in(world.viewer), at(world, "line-live", version.line.key)
    part = client.get(board, {"fragment": "board", "end": "failed", "q": "Raise"})
    assert "Raise the price" in text(part) and "Raise the limit" not in text(part)
    assert "<b>0</b> tasks" in text(part)
    assert part.headers["HX-Replace-Url"] == f"{board}?q=Raise&end=failed"
    assert f"{at(world, 'line-tasks', version.line.key)}?status=failed" in text(part)
    assert "Raise the limit" in text(client.get(board, {"end": "nonsense"}))
