"""What narrows a page stands in its address; a column of which there is nothing yet is absent."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Membership, Role, Task
from tests.factories import World, make_project
from tests.pages.conftest import As, at, text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
EARLIER, LATER = ((timezone.now() + timedelta(days=days)).date().isoformat() for days in (-2, 2))
HOLDS = [{"since": EARLIER}, {"until": LATER}, {"since": EARLIER, "until": LATER}, {"since": "no day"}]
HOLDS_NOT = [{"since": LATER}, {"until": EARLIER}]


def waiting(world: World, title: str, key: str = "release") -> Task:
    task = world.start(world.line(**{**gated(), "key": key, "name": key.title()}), title=title)
    world.report(task)
    return task


def shows(client: Client, address: str, words: str, **query: str) -> bool:
    response = client.get(address, query)
    assert response.status_code == 200, (address, query)
    return words in text(response)


@pytest.mark.wide
def test_days_in_the_address_narrow_each_list(world: World, signed_in: As) -> None:
    task = waiting(world, "Raise the limit")
    client = signed_in(world.reviewer)
    lists = [
        (reverse("tasks-everywhere"), {"fragment": "table"}),
        (at(world, "line-tasks", "release"), {"fragment": "table"}),
        (reverse("needs-me"), {"fragment": "list"}),
    ]
    for address, part in lists:
        assert all(shows(client, address, "Raise the limit", **part, **each) for each in HOLDS), address
        assert not any(shows(client, address, "Raise the limit", **part, **each) for each in HOLDS_NOT), (
            address
        )
    world.vote(task, by=world.reviewer)
    done = {"tab": "done", "fragment": "list"}
    assert all(shows(client, reverse("inbox"), "Raise the limit", **done, **each) for each in HOLDS)
    assert not any(shows(client, reverse("inbox"), "Raise the limit", **done, **each) for each in HOLDS_NOT)


@pytest.mark.wide
def test_an_extreme_day_narrows_nothing_and_breaks_nothing(world: World, signed_in: As) -> None:
    waiting(world, "Raise the limit")
    client = signed_in(world.reviewer)
    for day in ("0001-01-01", "9999-12-31", "2026-13-40", "1" * 300):
        assert shows(client, reverse("tasks-everywhere"), "Raise the limit", since=day, until=day), day


@pytest.mark.wide
def test_the_inbox_is_narrowed_by_line_and_keeps_it(world: World, signed_in: As) -> None:
    waiting(world, "Raise the limit")
    other = waiting(world, "Translate invoices", "words")
    client = signed_in(world.reviewer)
    # The form is sent by the browser itself, so the address has what it is narrowed to.
    page = client.get(reverse("needs-me"), {"line": "words", "since": EARLIER})
    assert "Translate invoices" in text(page) and "Raise the limit" not in text(page)
    assert f"line=words&amp;since={EARLIER}&amp;fragment=list" in text(page), "it stays so when it is renewed"
    assert shows(client, reverse("needs-me"), "No items match", line="words", since=LATER, fragment="list")
    world.vote(other, by=world.reviewer)
    done = {"tab": "done", "line": "words", "fragment": "list"}
    assert shows(client, reverse("inbox"), "?tab=done&amp;line=words", **done)
    assert not shows(client, reverse("inbox"), "Translate invoices", **{**done, "line": "release"})


@pytest.mark.wide
def test_lines_of_one_key_in_two_projects_are_told_apart(world: World, signed_in: As) -> None:
    version = world.line(**gated())
    world.report(world.start(version, title="Raise the limit"))
    other = World(make_project("site"), world.worker)
    Membership.objects.create(project=other.project, user=world.reviewer, roles=[Role.REVIEWER])
    world.report(world.start(other.line(**gated()), title="Translate invoices"))
    client = signed_in(world.reviewer)
    places = [
        (reverse("tasks-everywhere"), {"fragment": "table"}),
        (reverse("needs-me"), {"fragment": "list"}),
        (reverse("inbox"), {"fragment": "list", "tab": "others"}),
    ]
    lines = {"Raise the limit": f"{world.project}/release", "Translate invoices": f"{other.project}/release"}
    for address, query in places[:2]:
        for title, line in lines.items():
            hidden = next(each for each in lines if each != title)
            assert shows(client, address, title, **query, line=line), (address, line)
            assert not shows(client, address, hidden, **query, line=line), (address, line)
    for address, query in places:
        whole = text(client.get(address, {**query, "fragment": ""}))
        assert all(f'value="{line}"' in whole for line in lines.values()), address


def test_late_tasks_are_a_filter_and_home_counts_them(world: World, signed_in: As) -> None:
    version = world.line(stations=["build"])
    late, future = (timezone.now() + timedelta(days=days) for days in (-1, 1))
    world.start(version, title="Raise the limit", due_at=late)
    world.start(version, title="Translate invoices", due_at=future)
    client = signed_in(world.viewer)
    part = {"fragment": "table", "late": "yes"}
    assert shows(client, reverse("tasks-everywhere"), "Raise the limit", **part)
    assert not shows(client, reverse("tasks-everywhere"), "Translate invoices", **part)
    assert shows(client, reverse("home"), f"{reverse('tasks-everywhere')}?late=yes")


@pytest.mark.wide
def test_insights_are_narrowed_by_days(world: World, signed_in: As) -> None:
    waiting(world, "Raise the limit")
    client = signed_in(world.viewer)
    line, project = at(world, "line-insights", "release"), at(world, "insights")
    for query in HOLDS:
        assert shows(client, line, "1 decision", **query), query
        assert shows(client, project, 'id="time"', **query), query
    for query in HOLDS_NOT:
        assert not shows(client, line, "1 decision", **query), query
        assert not shows(client, project, 'id="time"', **query), query
    assert f'value="{EARLIER}"' in text(client.get(line, {"since": EARLIER}))


@pytest.mark.wide
def test_columns_without_data_are_absent_not_zero(world: World, signed_in: As) -> None:
    version = world.line(**gated())
    client = signed_in(world.viewer)
    lines, tasks, numbers = (
        at(world, "lines"),
        reverse("tasks-everywhere"),
        at(world, "line-insights", "release"),
    )

    def heads(address: str) -> set[str]:
        cells = text(client.get(address)).split('<th scope="col"')[1:]
        return {cell.partition(">")[2].partition("<")[0].strip() for cell in cells}

    assert not {"Open", "In review", "Stuck"} & heads(lines)
    assert not {"Tested", "Taken", "Share", "Last taken", "Decided"} & heads(numbers)
    task = world.start(version)
    assert "Open" in heads(lines) and not {"In review", "Stuck"} & heads(lines)
    assert not {"Priority", "Due"} & heads(tasks)
    world.report(task)
    assert {"Open", "In review"} <= heads(lines)
    assert {"Tested", "Taken", "Share"} <= heads(numbers) and "Decided" not in heads(numbers)
    world.vote(task)
    assert {"Last taken", "Decided", "First-pass approval"} <= heads(numbers)
    assert "Rework rounds" not in heads(at(world, "insights")) - heads(numbers)
    world.start(version, priority="high", due_at=timezone.now())
    assert {"Priority", "Due"} <= heads(tasks)


@pytest.mark.parametrize("day", ["today", "yesterday", "3d", " 0d "])
def test_a_day_is_named_by_how_long_ago_it_was(world: World, signed_in: As, day: str) -> None:
    waiting(world, "Raise the limit")
    client, tasks = signed_in(world.reviewer), reverse("tasks-everywhere")
    assert shows(client, tasks, "Raise the limit", since=day)
    assert shows(client, tasks, "Raise the limit", until=day) == (day not in ("yesterday", "3d"))
    since = timezone.localdate() - timedelta(days={"yesterday": 1, "3d": 3}.get(day, 0))
    assert f'value="{since}"' in text(client.get(tasks, {"since": day})), "the field says which day it is"


def test_no_template_writes_the_date_field_of_the_browser() -> None:
    """It speaks the language of the browser, and looks like no other field."""
    assert [
        file.name for file in Path("templates").rglob("*.html") if 'type="date"' in file.read_text()
    ] == []


def test_the_audit_log_is_narrowed_by_days(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    address = reverse("project-audit", args=[world.project.owner.key, world.project.key])
    for since, value in (("today", timezone.localdate().isoformat()), (EARLIER, EARLIER), ("no day", "")):
        page = text(client.get(address, {"since": since}))
        assert re.search(rf'name="since"\s+value="{value}"', page), since
