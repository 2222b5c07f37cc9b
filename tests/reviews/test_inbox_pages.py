"""The inbox as pages: rows that follow one another, what opens after a decision, and what an item is about."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines.models import GateVisit, LineVersion, Task
from reviews.inbox import lists
from reviews.models import AskedPlace
from tests.factories import World
from tests.reviews.conftest import gated
from tests.reviews.inbox_items import question, stuck
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


def waiting_tasks(world: World, count: int) -> list[Task]:
    version = world.line(**gated())
    tasks = [world.start(version, title=f"Task {number}") for number in range(count)]
    for task in tasks:
        world.report(task)
    return tasks


def rows(page: str) -> list[str]:
    return re.findall(r'<span class="mono">(WI-[^<]+)</span>', page)


def test_rows_come_by_pages_in_one_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PAGE", 2)
    tasks = [*waiting_tasks(world, 3), question(world), *waiting_tasks(world, 2)]
    client, address, found = as_(world.reviewer), reverse("needs-me"), []
    query = "?fragment=list"
    while query:
        page = client.get(address + query).content.decode()
        found += rows(page)
        more = re.search(r'hx-get="[^"?]*(\?[^"]*)"', page)
        query = more[1].replace("&amp;", "&") if more else ""
    assert found == [task.name for task in tasks]


def test_a_list_that_is_fetched_anew_has_as_many_rows_as_stood_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whole pages, up to a bound; the rest goes on after them. What is no number, or too great, does no harm."""
    monkeypatch.setattr(lists, "PAGE", 2)
    monkeypatch.setattr(lists, "MOST", 6)
    names = [task.name for task in waiting_tasks(world, 7)]
    for address in (reverse("needs-me"), reverse("inbox")):
        for asked, count in {"": 2, "2": 2, "3": 4, "5": 6, "900": 6, "-4": 2, "x": 2, "9" * 40: 2}.items():
            page = as_(world.reviewer).get(address, {"tab": "others", "fragment": "list", "rows": asked})
            assert (asked, rows(page.content.decode())) == (asked, names[:count])
            assert 'id="inbox-more"' in page.content.decode()


@pytest.mark.broken
def test_what_is_due_stands_below_headings_across_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "PAGE", 2)
    tasks = waiting_tasks(world, 6)
    client, address = as_(world.reviewer), reverse("needs-me")
    assert "inbox-heading" not in client.get(address + "?fragment=list").content.decode()
    noon = timezone.localtime().replace(hour=12)
    monkeypatch.setattr("django.utils.timezone.now", lambda: noon)
    hours = (-30, -3, 1, 2, 72, None)
    for task, after in zip(tasks, hours, strict=True):
        due = noon + timedelta(hours=after) if after is not None else None
        GateVisit.objects.filter(task=task).update(due_at=due)
        if due:
            AskedPlace.objects.filter(visit__task=task).update(order_at=due)
    page = client.get(address + "?fragment=list").content.decode()
    told = [found := page]
    while more := re.search(r'hx-get="[^"?]*(\?[^"]*)"', found):
        told.append(found := client.get(address + more[1].replace("&amp;", "&")).content.decode())
    seen = re.findall(r'inbox-heading small">([^<]+)<|<span class="mono">(WI-[^<]+)<', "".join(told))
    names = [task.name for task in tasks]
    assert [a or b for a, b in seen] == [
        "Overdue", *names[:2], "Due today", *names[2:4], "Later", *names[4:],
    ]  # fmt: skip


def test_an_address_that_names_no_place_begins_at_the_first(world: World) -> None:
    [task] = waiting_tasks(world, 1)
    for after in ("x", "2026-01-01~x", "~", "9999-99-99T00:00:00Z~1", "2026-01-01T00:00:00~" + "0" * 32):
        page = as_(world.reviewer).get(reverse("needs-me"), {"after": after, "fragment": "list"})
        assert (page.status_code, rows(page.content.decode())) == (200, [task.name])


def test_after_a_decision_the_next_review_opens(world: World) -> None:
    first, second, third = waiting_tasks(world, 3)
    visit = world.visit(second)
    said = {
        "word": "approve",
        "token_version": visit.token_version,
        "evidence_digest": visit.evidence_digest,
    }
    answer = as_(world.reviewer).post(reverse("gate-decide", args=[visit.pk]), said)
    assert answer.headers["Location"] == reverse("gate-visit", args=[world.visit(third).pk])
    assert world.at(first) == ["build"]


def test_an_item_shows_what_it_is_about_beside_the_list(world: World) -> None:
    task = stuck(world)
    page = as_(world.operator).get(reverse("needs-me")).content.decode()
    assert task.name in rows(page)
    assert "latest result of each station" in page and "No rule of weigh took this outcome." in page


def test_what_no_agent_wrote_is_not_called_so(world: World) -> None:
    [task] = waiting_tasks(world, 1)
    page = as_(world.reviewer).get(reverse("gate-visit", args=[world.visit(task).pk])).content.decode()
    assert "Agent text" not in page


@pytest.mark.wide
@pytest.mark.parametrize("address", ["needs-me", "inbox?tab=others", "inbox?tab=mine", "inbox?tab=done"])
def test_statements_are_as_many_for_many_rows(world: World, address: str) -> None:
    name, _mark, query = address.partition("?")
    client, url = as_(world.reviewer), f"{reverse(name)}?{query}&fragment=list"

    def counted(rows: str = "") -> int:
        client.get(url + rows)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url + rows).status_code == 200
        return len(queries)

    for task in waiting_tasks(world, 2):
        world.vote(task, "approve", by=world.reviewer)
    waiting_tasks(world, 2)
    before = counted()
    for task in waiting_tasks(world, 4):
        world.vote(task, "approve", by=world.reviewer)
    waiting_tasks(world, 6)
    assert counted() == counted("&rows=200") == before <= 35


def test_a_row_says_how_much_there_is_to_read(world: World, line: LineVersion) -> None:
    git = {"files_changed": 6, "insertions": 142, "deletions": 38, "paths": ["a"], "sensitive": ["ci.yml"]}
    task = world.start(line, title="Limit sign-in")
    world.report(task, {"result": "success", "facts": {"git": git}})
    other = world.start(line, title="Say why")
    world.report(other, {"result": "success"})
    page = as_(world.reviewer).get(reverse("needs-me")).content.decode()
    assert page.count("6 files") == 1
    assert "+142" in page and "−38" in page and "1 affects checks" in page


def test_an_empty_inbox_leads_on(world: World, line: LineVersion) -> None:
    client = as_(world.reviewer)
    assert f'href="{reverse("task-new-everywhere")}"' in inbox_list(client)
    world.start(line)
    assert f'href="{reverse("tasks-everywhere")}?status=running"' in inbox_list(client)


def inbox_list(client: Client) -> str:
    return str(client.get(reverse("needs-me"), {"fragment": "list"}).content.decode())
