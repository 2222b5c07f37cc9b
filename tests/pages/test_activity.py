"""All activity: what happened in the projects of a person, filterable, paged, and with nothing of others."""

from __future__ import annotations

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

from pipelines.engine.commands.pauses import PauseScope, pause, resume
from pipelines.models import Membership, Role, Task, User
from pipelines.people import members
from pipelines.queries import activity
from pipelines.queries.activity import ActivityFilter, ActivityItem, read_activity
from tests.browser.looking import look
from tests.factories import World, make_user, make_world
from tests.pages.conftest import As, text
from tests.pages.test_task_timeline import LINE, sent_back_once

pytestmark = pytest.mark.django_db
SignIn = Callable[[Page | BrowserContext, User], None]


def feed(world: World, **filters: Any) -> list[ActivityItem]:
    return list(read_activity([world.project], ActivityFilter(**filters)).items)


def words(item: ActivityItem) -> str:
    if item.item is None:
        return item.sentence
    return f"{item.item.source} → {item.item.target}" if item.item.move else item.item.text


def added(world: World) -> None:
    newcomer = make_user("newcomer")
    members.add_member(
        world.project, newcomer, roles=[Role.VIEWER], execute=False, by=world.admin, now=timezone.now()
    )


def happened(world: World) -> Task:
    """A task with votes that was sent back, a publication, a new member, a pause."""
    task = sent_back_once(world)
    added(world)
    scope = PauseScope(world.project)
    pause(scope, user=world.operator, reason="Release day")
    resume(scope, user=world.operator)
    return task


def test_everything_that_happened_stands_newest_first(world: World) -> None:
    task = happened(world)
    items = feed(world)
    assert [item.at for item in items] == sorted((item.at for item in items), reverse=True)
    texts = [words(item) for item in items]
    assert texts[:3] == [f"Resumed: {world.project.name}", f"Paused: {world.project.name}", texts[2]]
    assert texts[2].startswith("Added the member: newcomer")
    assert texts[-2:] == ["Start → plan", "Published v1"]
    assert any(each.endswith("sent it back: Count by address") for each in texts)
    assert {item.task.name for item in items if item.task} == {task.name}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("starts", ["Start → plan"]),
        ("versions", ["Published v1"]),
        ("pauses", ["Resumed: ", "Paused: "]),
        ("members", ["Added the member: "]),
        ("ends", []),
    ],
)
def test_a_kind_narrows_to_its_own(world: World, kind: str, expected: list[str]) -> None:
    happened(world)
    found = [words(item) for item in feed(world, kind=kind)]
    assert len(found) == len(expected)
    assert all(text.startswith(begin) for text, begin in zip(found, expected, strict=True))
    votes = feed(world, kind="votes")
    assert {item.who_kind for item in votes} == {"person"} and len(votes) == 2


def test_line_person_and_time_narrow(world: World) -> None:
    happened(world)
    other = world.line(stations=["code"], key="other")
    started = world.start(other, title="of the other line")
    assert {item.line_key for item in feed(world, line="other")} == {"other"}
    assert {item.task for item in feed(world, line="other", kind="starts")} == {started}
    by_operator = feed(world, who=world.operator.username)
    assert by_operator and {item.who for item in by_operator} == {str(world.operator)}
    assert feed(world, who="nobody at all") == []
    now = timezone.now()
    assert feed(world, since=now + timedelta(hours=1)) == [] == feed(world, until=now - timedelta(hours=1))
    assert len(feed(world, since=now - timedelta(hours=1), until=now + timedelta(hours=1))) == len(
        feed(world)
    )


def test_pages_have_everything_once_and_in_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However short the pages are, and however few events each of them reads."""
    for _number in range(4):
        happened(world) if _number == 0 else sent_back_once(world)
    whole = [(item.at, words(item), item.task) for item in feed(world)]
    for on_a_page, scanned in ((3, 1_000), (50, 12), (4, 9), (1, 2)):
        monkeypatch.setattr(activity, "ON_A_PAGE", on_a_page)
        monkeypatch.setattr(activity, "SCANNED", scanned)
        pieces: list[ActivityItem] = []
        until = None
        for _page in range(400):
            page = read_activity([world.project], ActivityFilter(until=until))
            pieces += page.items
            if page.older is None:
                break
            assert until is None or page.older < until, "each page leads further back"
            until = page.older
        assert sorted(map(str, whole)) == sorted(str((i.at, words(i), i.task)) for i in pieces), on_a_page
        assert [item.at for item in pieces] == [at for at, _text, _task in whole]


def test_events_while_pages_are_read_shift_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "ON_A_PAGE", 3)
    task = sent_back_once(world)
    first = read_activity([world.project], ActivityFilter())
    before = [words(item) for item in read_activity([world.project], ActivityFilter(until=first.older)).items]
    world.vote(task, by=world.reviewer)
    world.start(task.pinned, title="later")
    after = [words(item) for item in read_activity([world.project], ActivityFilter(until=first.older)).items]
    assert after == before


def test_nothing_of_another_owner_is_shown_or_named(world: World, signed_in: As) -> None:
    happened(world)
    theirs = make_world()
    secret = theirs.start(theirs.line(LINE), title="secret of theirs")
    client = signed_in(world.viewer)
    for query in (
        {},
        {"project": str(theirs.project)},
        {"line": f"{theirs.project}/line"},
        {"who": theirs.operator.username},
    ):
        page = text(client.get(reverse("activity"), query))
        assert "secret of theirs" not in page and secret.name not in page, query
        assert theirs.project.key not in page and f">{theirs.operator}<" not in page, query
    Membership.objects.create(project=theirs.project, user=world.viewer, roles=["viewer"])
    page = text(client.get(reverse("activity")))
    assert "secret of theirs" in page and "Rate limiting" in page
    assert "secret of theirs" not in text(client.get(reverse("activity"), {"project": str(world.project)}))


def test_what_only_administrators_read_stays_in_the_audit_log(world: World, signed_in: As) -> None:
    world.machine()
    added(world)
    assert [words(item)[:16] for item in feed(world, kind="members")] == ["Added the member"]
    assert "token" not in " ".join(words(item).lower() for item in feed(world))


@pytest.mark.parametrize(
    "query",
    [
        {"before": "yesterday"}, {"before": "9999-12-31T23:59:59+00:00"}, {"before": "2026-13-45T00:00"},
        {"before": "0001-01-01"}, {"kind": "none"}, {"line": "no/such/line"}, {"who": "\0%_"},
        {"since": "x", "until": "0d"},
        {"before": "2026-02-30T10:00:00"}, {"before": "1" * 500},
    ],
)  # fmt: skip
def test_no_address_breaks_the_page(world: World, signed_in: As, query: dict[str, str]) -> None:
    happened(world)
    client = signed_in(world.viewer)
    for part in ({}, {"fragment": "feed"}):
        assert client.get(reverse("activity"), query | part).status_code == 200


def test_as_many_statements_for_many_rows_as_for_few(world: World, signed_in: As) -> None:
    happened(world)
    version = world.line(stations=["code"], key="other")
    client = signed_in(world.viewer)

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(reverse("activity")).status_code == 200
        return len(queries)

    world.report(world.start(version))
    statements()
    few = statements()
    for number in range(60):
        world.report(world.start(version, title=f"task {number}"))
    assert statements() == few


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_it_is_found_by_the_palette_and_looks_right(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    happened(world)
    page = new_context().new_page()
    sign_in(page, world.reviewer)
    page.goto(reverse("home"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("all activity")
    page.get_by_role("option", name="All activity").first.click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.locator(".feed-row").first).to_be_visible()
    look(page, tmp_path, "feed")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_what_happens_comes_by_itself_and_is_narrowed_by_kind(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    version = happened(world).pinned
    page = new_context().new_page()
    sign_in(page, world.reviewer)
    page.goto(reverse("activity"))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    world.start(version, title="Came later")
    expect(page.locator(".feed-row").first).to_contain_text("Came later")
    page.get_by_label("Kind").select_option("versions")
    expect(page.locator(".feed-row")).to_have_count(1)
    expect(page.locator(".feed-row").first).to_contain_text("Published v1")
