"""The overview's figures of the last days."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from pipelines.lines import publishing
from pipelines.models import Job, LineVersion, Task, Token
from pipelines.queries import line_stats
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
LOSES = {"id": "lost", "when": {"result": "failure"}, "to": "failed"}
WINS = {"id": "won", "when": {"result": "success"}, "to": "completed"}


@pytest.fixture
def version(world: World) -> LineVersion:
    return world.line(document([station("build", WINS, LOSES)], key="line"))


def spent(task: Task, cost: float) -> None:
    """Its only run, with this price."""
    now = timezone.now()
    token = Token.objects.create(
        task=task,
        station="build",
        status=task.status,
        entered_at=now,
        changed_at=now,
        ended_at=now,
        end=task.end,
    )
    Job.objects.create(
        task=task,
        token=token,
        pinned=task.pinned,
        station="build",
        kind="noop",
        visit=1,
        state=Job.State.DONE,
        created_at=now,
        started_at=now,
        ended_at=now,
        result="success",
        outcome={"result": "success", "facts": {"usage": {"cost_usd": cost}}},
    )


def ended(world: World, version: LineVersion, cost: float | None, *, result: str = "success") -> Task:
    task = world.start(version)
    usage = {"facts": {"usage": {"cost_usd": cost}}} if cost is not None else {}
    world.report(task, {"result": result, **usage})
    task.refresh_from_db()
    return task


@pytest.mark.broken  # rows written by hand have no history that the engine wrote
def test_the_last_days_are_counted_and_what_ended_before_is_not(world: World, version: LineVersion) -> None:
    now = timezone.now()
    priced = [(10, 1, "completed"), (20, 3, "completed"), (90, 8, "completed"), (5, 50, "failed")]
    rows = [(now, *each) for each in priced] + [(now - timedelta(days=8), 500, 70, "completed")]
    for number, (at_end, seconds, cost, status) in enumerate(rows, start=100):
        task = Task.objects.create(
            project=world.project,
            line=version.line,
            pinned=version,
            number=number,
            title="Ended",
            requested_by="Somebody",
            status=status,
            end=status,
            created_at=at_end - timedelta(seconds=seconds),
            changed_at=at_end,
            ended_at=at_end,
        )
        spent(task, cost)
    world.start(version)
    found = line_stats.line_stats(version.line_id)
    assert (found.ended, found.completed, found.more) == (4, 3, False)
    assert found.seconds == pytest.approx(20)
    assert found.cost == Decimal(3)


def test_no_more_tasks_are_read_than_are_counted(
    world: World, version: LineVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_stats, "MAX_TASKS", 2)
    for _ in range(3):
        ended(world, version, None)
    found = line_stats.line_stats(version.line_id)
    assert (found.ended, found.completed, found.more, found.cost_text) == (2, 2, True, "")


def test_the_overview_says_the_figures_or_that_nothing_ended(
    world: World, version: LineVersion, signed_in: As
) -> None:
    viewer, page = signed_in(world.viewer), at(world, "line", "line")
    assert "No task of this line ended." in text(viewer.get(page))
    ended(world, version, 2.5)
    shown = text(viewer.get(page))
    assert "Last 7 days" in shown
    assert "$2.50" in shown
    assert "by admin" in shown, "who published it"


def test_the_overview_says_how_many_problems_its_draft_has(
    world: World, version: LineVersion, signed_in: As
) -> None:
    page, never = at(world, "line", "line"), {"id": "never", "when": {"result": "success"}, "to": "failed"}
    designer = signed_in(world.designer)
    assert 'hx-get="?part=draft"' not in text(designer.get(page)), "the draft says what is live"
    changed = document([station("build", WINS, never, LOSES)], key="line")
    publishing.save_draft(version.line, changed, world.designer, version.line.draft_number)
    shown = text(designer.get(page))
    assert "The draft differs from the live version" in shown
    assert 'hx-get="?part=draft"' in shown
    assert "1 problem" in text(designer.get(page, {"part": "draft"}))
    assert 'hx-get="?part=draft"' not in text(signed_in(world.viewer).get(page)), "nor can they mend it"
