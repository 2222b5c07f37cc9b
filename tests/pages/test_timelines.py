"""The timeline over several tasks, of a line and of all lines: bars of what waited, ran and stood at gates."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Membership, Task, Token, User
from pipelines.queries.board import Filters
from pipelines.queries.task_timelines import TaskTimeline, TaskTimelines, line_timelines
from pipelines.templatetags.time_axis import TimeAxis
from tests.browser.looking import look
from tests.engine.joining import begun, gate5
from tests.engine.stateful import clock
from tests.factories import World, make_world
from tests.pages.conftest import As, at, text
from tests.pages.test_board import LINE
from tests.pages.test_open_work import COSTS, work

pytestmark = pytest.mark.django_db
SignIn = Callable[[Page | BrowserContext, User], None]
ROW = re.compile(r'data-row="([^"]+)"')


def minutes_ago(minutes: float) -> None:
    """Set the clock of the database, as long as `clock.installed` is in force."""
    clock.set_ahead(-clock.BASE - timedelta(minutes=minutes))


def shown(world: World, line: Any, **filters: str) -> TaskTimelines:
    return line_timelines(line, Filters(**filters), timezone.now(), world.operator.pk)


def tones(row: TaskTimeline) -> list[str]:
    return [bar.tone for bar in row.bars]


def test_a_row_has_what_waited_ran_failed_and_stood_at_a_gate(world: World) -> None:
    version = world.line(LINE)
    queued = world.start(version, title="queued")
    asked = world.start(version, title="asked")
    world.report(asked, {"result": "failure"})
    world.report(asked)
    world.report(asked, {"eval": "ok"})
    rows = {row.task.title: row for row in shown(world, version.line).rows}
    assert queued.title in rows
    assert tones(rows["queued"]) == ["queued"] and rows["queued"].bars[0].until is None
    bars = [bar for bar in rows["asked"].bars if bar.tone != "queued"]
    assert [(bar.tone, bar.label) for bar in bars] == [
        ("failed", "build"), ("running", "build, run 2"), ("running", "check"), ("waiting", "A look")
    ]  # fmt: skip
    assert [bar.until is None for bar in bars] == [False, False, False, True]


def test_what_is_stuck_goes_on_as_a_bar_until_somebody_helps(world: World) -> None:
    version = world.line(LINE)
    task = world.start(version)
    world.report(task)
    world.report(task, {"eval": "not ok"})
    [row] = shown(world, version.line).rows
    assert (row.bars[-1].tone, row.bars[-1].until) == ("stuck", None)
    assert row.card is not None and row.card.status == "stuck"


def test_branches_stand_beside_each_other_and_join_again(world: World) -> None:
    version = gate5(world)
    task = begun(world, version)
    world.started(task, "qa")
    world.started(task, "security")
    [row] = shown(world, version.line).rows
    assert row.lane_count == 2
    assert {bar.lane for bar in row.bars if bar.until is None} == {0, 1}
    world.report(task, station="qa")
    world.report(task, station="security")
    [row] = shown(world, version.line).rows
    assert [bar.lane for bar in row.bars if bar.until is None] == [0], (
        "the joined position goes on in one lane"
    )


def test_ended_tasks_of_the_day_stand_last(world: World, signed_in: As) -> None:
    version = world.line(stations=["build"])
    done, open_task = world.start(version, title="done"), world.start(version, title="open")
    world.report(done)
    rows = shown(world, version.line).rows
    assert [row.task.title for row in rows] == ["open", "done"]
    assert all(bar.until for bar in rows[-1].bars)
    page = text(signed_in(world.viewer).get(at(world, "line-live", "line"), {"view": "timeline"}))
    assert ROW.findall(page) == [open_task.name, done.name]


def test_the_axis_places_instants_and_has_few_round_ticks() -> None:
    now = timezone.now().replace(hour=12, minute=3, second=20, microsecond=0)
    for seconds in (20, 300, 5_000, 90_000, 700_000, 40_000_000):
        axis = TimeAxis.axis_from_begin_to_now(now - timedelta(seconds=seconds), now)
        assert 1 <= len(axis.ticks) <= 8, seconds
        assert axis.percent(axis.begin) == 0 and axis.percent(axis.end) == 100
        assert 50 < axis.percent(now) < 100
        assert axis.percent(now - timedelta(days=9_999)) == 0, "what began before is cut at the edge"
        percents = [percent for percent, _words in axis.ticks]
        assert percents == sorted(set(percents))


def test_filters_and_address_are_those_of_the_board(world: World, signed_in: As) -> None:
    tasks = work(world)
    client = signed_in(world.operator)

    def rows(**query: str) -> list[str]:
        return ROW.findall(text(client.get(reverse("tasks-live"), {"view": "timeline", **query})))

    assert sorted(rows()) == sorted(task.name for task in tasks.values())
    assert rows(show="stuck") == [tasks["stuck"].name] == rows(line="other")
    assert rows(q="runs") == [tasks["runs"].name]
    page = text(client.get(reverse("tasks-live"), {"view": "timeline", "show": "stuck", "span": "6h"}))
    assert 'href="?show=stuck&amp;view=timeline&amp;span=6h"' not in page
    assert re.search(r'name="span" value="6h"', page) and re.search(r'name="view" value="timeline"', page)
    again = client.get(
        reverse("tasks-live"), {"fragment": "board", "view": "timeline", "span": "6h", "show": "stuck"}
    )
    assert "view=timeline" in again["HX-Replace-Url"] and "span=6h" in again["HX-Replace-Url"]
    nonsense = client.get(reverse("tasks-live"), {"view": "timeline", "span": "a year", "show": "none"})
    assert nonsense.status_code == 200


def test_nothing_of_another_owner_is_shown(world: World, signed_in: As) -> None:
    work(world)
    theirs = make_world()
    theirs.start(theirs.line(LINE), title="secret of theirs")
    client = signed_in(world.operator)
    page = text(client.get(reverse("tasks-live"), {"view": "timeline", "project": str(theirs.project)}))
    assert "secret of theirs" not in page and theirs.project.key not in page
    assert client.get(at(theirs, "line-live", "line"), {"view": "timeline"}).status_code == 404
    Membership.objects.create(project=theirs.project, user=world.operator, roles=["viewer"])
    assert "secret of theirs" in text(client.get(reverse("tasks-live"), {"view": "timeline"}))


@pytest.mark.smoke(1)
@pytest.mark.parametrize("of_line", [True, False], ids=["line", "all"])
def test_as_many_statements_for_many_tasks_as_for_few(world: World, signed_in: As, of_line: bool) -> None:
    work(world)
    client, version = signed_in(world.operator), world.line(LINE)
    address = at(world, "line-live", "line") if of_line else reverse("tasks-live")

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address, {"view": "timeline"}).status_code == 200
        return len(queries)

    statements()
    few = statements()
    for number in range(60):
        world.start(version, title=f"task {number}")
    assert statements() == few
    page = text(client.get(address, {"view": "timeline"}))
    assert len(ROW.findall(page)) == 40 and "more in Tasks" in page


def worked_for_an_hour(world: World) -> dict[str, Task]:
    """Tasks of two lines with a past: a failure, a review, a fork, a queue, one that is stuck."""
    minutes_ago(75)
    version, forked = world.line(LINE), gate5(world, key="forked", name="Plan, check, release")
    tasks = {title: world.start(version, title=title) for title in ("Rate limiting", "Rename a field")}
    tasks["forked"] = world.start(forked, title="Upgrade the library")
    minutes_ago(70)
    for task in tasks.values():
        world.started(task)
    minutes_ago(55)
    world.report(tasks["Rate limiting"], {"result": "failure"})
    world.report(tasks["forked"], station="plan")
    minutes_ago(52)
    world.started(tasks["Rate limiting"])
    world.started(tasks["forked"], "qa")
    world.started(tasks["forked"], "security")
    minutes_ago(35)
    world.report(tasks["Rate limiting"], COSTS)
    world.report(tasks["Rename a field"])
    minutes_ago(31)
    world.report(tasks["Rate limiting"], {"eval": "ok"})
    world.report(tasks["Rename a field"], {"eval": "no"})
    world.report(tasks["forked"], station="qa")
    minutes_ago(12)
    tasks["queued"] = world.start(version, title="Write the changelog")
    tasks["runs"] = world.start(version, title="Add a health check")
    minutes_ago(4)
    world.started(tasks["runs"])
    return tasks


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_bars_grow_and_come_anew_by_themselves(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    with clock.installed():
        tasks = worked_for_an_hour(world)
    page = new_context().new_page()
    sign_in(page, world.operator)
    page.goto(at(world, "line-live", "line"))
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    row = page.locator(f"[data-row='{tasks['runs'].name}']")
    bar = row.locator("[data-grows]")
    expect(bar).to_have_count(1)
    before = bar.get_attribute("width") or ""
    expect(bar).not_to_have_attribute("width", before)
    look(page, tmp_path, "line")
    row.get_by_role("link").focus()
    world.report(tasks["runs"])
    expect(row.get_by_text("check")).to_be_visible()
    assert Token.objects.get(task=tasks["runs"]).station == "check"
    page.goto(reverse("tasks-live") + "?view=timeline")
    expect(page.locator("[data-row]")).to_have_count(len(tasks))
    look(page, tmp_path, "all")
