"""Cards of a board that its page shows already are not sent again, and columns come in parts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from pipelines.queries.board import PER_COLUMN
from pipelines.web.tasks.shown_cards import HEADER, MOST_ROWS
from tests.factories import World
from tests.pages.conftest import As, at
from tests.pages.test_board import LINE
from tests.waiting import LONG_MS

SignIn = Callable[[Page | BrowserContext, User], None]
DRAWN = re.compile(r'data-drawn="([^"]+)"')
MARK = re.compile(r'<article data-card="([^"]+)" data-drawn="[^"]+" data-same></article>')


def board(
    client: Client, world: World, shown: str = "", rows: str | list[str] = "", address: str = ""
) -> str:
    query = {"fragment": "board", "rows": rows}
    headers = {HEADER: shown}
    place = address or at(world, "line-live", "line")
    return client.get(place, query, headers=headers).content.decode()


@pytest.mark.django_db
def test_a_card_that_the_page_shows_as_it_is_comes_as_a_mark(world: World, signed_in: As) -> None:
    version = world.line(LINE)
    first, second = (world.start(version, title=title) for title in ("first", "second"))
    for address in ("/tasks/live/", ""):
        client = signed_in(world.operator)
        whole = board(client, world, address=address)
        shown = ",".join(DRAWN.findall(whole))
        assert len(shown.split(",")) == 2 and not MARK.findall(whole)
        again = board(client, world, shown, address=address)
        assert [key.split(".")[0] for key in MARK.findall(again)] == [first.name, second.name]
        assert "first" not in again, "what is shown is not sent"
    world.report(first, {"exit_code": 1})
    after = board(signed_in(world.operator), world, shown)
    assert first.title in after and second.title not in after, "the card that changed comes whole"
    # Another person may do other things with a card: theirs is another one.
    assert not MARK.findall(board(signed_in(world.viewer), world, shown))


@pytest.mark.django_db
def test_a_column_comes_in_parts_and_strange_numbers_of_cards_mean_nothing(
    world: World, signed_in: As
) -> None:
    version = world.line(LINE)
    for number in range(PER_COLUMN + 5):
        world.start(version, title=f"task {number}")
    client = signed_in(world.viewer)

    def cards(*rows: str) -> int:
        return len(DRAWN.findall(board(client, world, rows=list(rows))))

    assert cards() == PER_COLUMN
    assert cards(f"{PER_COLUMN + 3}:station:build") == PER_COLUMN + 3
    assert cards(f"{MOST_ROWS}:station:build", "40:gate:nowhere") == PER_COLUMN + 5
    for strange in (
        "-1:station:build",
        "99999:station:build",
        "²:station:build",
        "60:",
        "60",
        "x:y",
    ):
        assert cards(strange) == PER_COLUMN, strange


@pytest.mark.django_db
def test_a_longer_column_costs_no_statement_more(world: World, signed_in: As) -> None:
    version = world.line(LINE)
    for number in range(PER_COLUMN + 5):
        world.start(version, title=f"task {number}")
    client, counts = signed_in(world.operator), []
    board(client, world)
    for rows in ([], ["60:station:build"]):
        with CaptureQueriesContext(connection) as asked:
            board(client, world, rows=rows)
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_card_that_did_not_change_stays_and_more_come_when_scrolled(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    version = world.line(LINE)
    tasks = [world.start(version, title=f"task {number}") for number in range(PER_COLUMN + 10)]
    page = new_context(viewport={"width": 1440, "height": 900}).new_page()
    sign_in(page, world.operator)
    page.goto(at(world, "line-live", "line"))
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    cards = page.locator("[data-column='station:build'] .task-card")
    expect(cards).to_have_count(PER_COLUMN)
    kept = page.locator(f"[data-task='{tasks[1].name}']")
    kept.evaluate("card => { card.kept = true }")
    kept.locator(".task-card-title").focus()
    world.report(tasks[0])
    expect(page.locator("[data-column='station:check'] .task-card")).to_have_count(1)
    assert kept.evaluate("card => card.kept") is True
    expect(kept.locator(".task-card-title")).to_be_focused()
    expect(page.locator("[data-column='station:build'] .board-head b")).to_have_text(str(len(tasks) - 1))
    page.locator("[data-scroll='station:build']").evaluate(
        "column => { column.scrollTop = column.scrollHeight }"
    )
    expect(cards).to_have_count(len(tasks) - 1)
    page.locator("[data-scroll='station:build']").evaluate("column => { column.scrollTop = 0 }")
    world.report(tasks[1])
    expect(page.locator("[data-column='station:check'] .task-card")).to_have_count(2)
    expect(cards).to_have_count(PER_COLUMN, timeout=LONG_MS)
