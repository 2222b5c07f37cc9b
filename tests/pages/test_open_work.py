"""All open work over the lines of several projects: columns by state, and a table of lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines import engine
from pipelines.models import LineVersion, Membership, User
from tests.browser.looking import look
from tests.factories import World, document, make_user, make_world, station
from tests.pages.conftest import As, text
from tests.pages.test_board import LINE

pytestmark = pytest.mark.django_db
SignIn = Callable[[Page | BrowserContext, User], None]
SHOWN = re.compile(r'data-column="(\w+)".*?</section>', re.DOTALL)
COSTS = {"result": "success", "facts": {"usage": {"cost_usd": 1.25}}}


def lines_of(world: World) -> tuple[LineVersion, LineVersion]:
    other = document([station("code", {"id": "no", "when": {"result": "failure"}, "to": "completed"})],
                     policy={"no_match": "stuck"}, key="other", name="Other line")  # fmt: skip
    return world.line(LINE), world.line(other)


def work(world: World) -> dict[str, Any]:
    first, second = lines_of(world)
    tasks = {title: world.start(first, title=title) for title in ("queued", "runs", "asked")}
    world.started(tasks["runs"])
    world.report(tasks["asked"])
    world.report(tasks["asked"], {"eval": "ok"})
    tasks["stuck"] = world.start(second, title="stuck")
    assert world.report(tasks["stuck"], COSTS).status == "accepted"
    return tasks


def columns(page: str) -> dict[str, list[str]]:
    """Return the titles in each column."""
    return {
        found[1]: re.findall(r'class="task-card-title"[^>]*>([^<]*)<', found[0])
        for found in SHOWN.finditer(page)
    }


def get(client: Any, **query: str) -> str:
    return text(client.get(reverse("tasks-live"), query))


def test_tasks_of_all_lines_stand_in_columns_by_state(world: World, signed_in: As) -> None:
    work(world)
    page = get(signed_in(world.viewer))
    assert columns(page) == {
        "queued": ["queued"],
        "running": ["runs"],
        "waiting": ["asked"],
        "stuck": ["stuck"],
    }
    assert "Line · A look" in page and "Other line · code" in page
    assert "data-move" not in page, "who only looks moves nothing"


def test_filters_narrow_as_on_the_board_of_a_line(world: World, signed_in: As) -> None:
    work(world)
    client = signed_in(world.operator)
    assert columns(get(client, show="stuck"))["stuck"] == ["stuck"]
    assert columns(get(client, show="stuck"))["queued"] == []
    assert columns(get(client, line="other")) == {
        "queued": [],
        "running": [],
        "waiting": [],
        "stuck": ["stuck"],
    }
    assert columns(get(client, q="runs"))["running"] == ["runs"]
    assert "No open tasks match" in get(client, q="nothing like it")
    assert "data-move" in get(client)


def test_the_table_has_a_row_for_each_line_with_what_it_costs(world: World, signed_in: As) -> None:
    work(world)
    page = get(signed_in(world.viewer), view="lines")
    table = page.partition('id="board"')[2].partition("</table>")[0]
    rows = [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr>.*?</tr>", table)[1:]]
    numbers = [re.findall(r"(?<![\w$.])\d+(?![\w.])", row)[:5] for row in rows]
    assert [row.split()[0] for row in rows] == ["Other", "Line"], "stuck first"
    assert numbers == [["0", "0", "0", "1", "0"], ["1", "1", "1", "0", "0"]]
    assert "$1.25" in rows[0]


def test_nothing_of_another_tenant_is_counted_or_named(world: World, signed_in: As) -> None:
    work(world)
    theirs = make_world()
    theirs.start(theirs.line(LINE), title="secret of theirs")
    mine = signed_in(world.operator)
    for view in ("", "lines"):
        page = get(mine, view=view)
        assert "secret of theirs" not in page and theirs.project.key not in page
        assert "<b>4</b> tasks" in page
        assert get(mine, view=view, project=str(theirs.project)).count("<b>4</b> tasks") == 1
    Membership.objects.create(project=theirs.project, user=world.operator, roles=["viewer"])
    page = get(mine)
    assert columns(page)["queued"] == ["queued", "secret of theirs"] and "<b>5</b> tasks" in page
    assert page.count("data-move") == 4, "a viewer of theirs moves nothing there"


def test_who_is_in_no_project_sees_that_nothing_is_open(world: World, signed_in: As) -> None:
    work(world)
    client = signed_in(make_user("newcomer"))
    assert "Nothing is open" in get(client) and "Nothing is open" in get(client, view="lines")


@pytest.mark.smoke(1)
@pytest.mark.parametrize("view", ["", "lines"])
def test_as_many_statements_for_many_tasks_as_for_few(world: World, signed_in: As, view: str) -> None:
    work(world)
    client, version = signed_in(world.operator), world.line(LINE)

    def statements() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(reverse("tasks-live"), {"view": view}).status_code == 200
        return len(queries)

    statements()
    few = statements()
    for number in range(60):
        world.start(version, title=f"task {number}")
    assert statements() == few
    if not view:
        assert "more in Tasks" in get(client)


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_it_moves_by_itself_and_looks_right(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    tasks = work(world)
    page = new_context().new_page()
    sign_in(page, world.operator)
    page.goto(reverse("tasks-everywhere"))
    page.get_by_role("link", name="Board", exact=True).click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    look(page, tmp_path, "board")
    world.started(tasks["queued"])
    moved = page.locator(f"[data-column='running'] [data-task='{tasks['queued'].name}']")
    expect(moved).to_be_visible()
    page.get_by_role("link", name="runs", exact=True).focus()
    page.keyboard.press("m")
    page.get_by_role("dialog").get_by_label("To").select_option("ship")
    page.get_by_role("dialog").get_by_role("button", name="Move").press("Enter")
    expect(page.locator("[data-column='waiting'] [data-task]")).to_have_count(2)
    page.get_by_role("link", name="Lines", exact=True).nth(1).click()
    expect(page.get_by_role("row", name="Other line")).to_be_visible()
    look(page, tmp_path, "lines")
    token = world.token(tasks["stuck"])
    engine.move_or_retry_by_hand(token.pk, user=world.admin, token_version=token.version)
    expect(page.get_by_role("row", name="Other line").locator("td").nth(1)).to_have_text("1")
