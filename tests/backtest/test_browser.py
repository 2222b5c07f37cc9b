"""The page of back-tests in a real browser, with the mouse and by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from pipelines.lines import publishing
from pipelines.models import Line, Task, User
from tests.backtest.test_run import line
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.fixtures.site import Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
SignIn = Callable[[Page, User], None]


@pytest.fixture
def task(world: World) -> Task:
    """Went build → check → completed; the draft leads to another station, then it is published no more."""
    task = world.start(world.line(line()))
    world.report(task)
    world.report(task)
    publishing.save_draft(Line.objects.get(pk=task.line_id), line("other"), world.admin, 1)
    return task


def address(task: Task, site: Site) -> str:
    project = task.project
    return f"{site.url}/p/{project.owner.key}/{project.key}/lines/{task.line.key}/versions"


def counts(page: Page) -> dict[str, tuple[str, str]]:
    rows = page.locator("tr[data-verdict]").all()
    return {
        str(row.get_attribute("data-verdict")): tuple(row.locator("td").all_inner_texts()) for row in rows
    }  # type: ignore[misc]


@pytest.mark.wide
def test_from_the_versions_to_the_task_that_would_go_elsewhere(
    world: World, site: Site, page: Page, sign_in: SignIn, task: Task
) -> None:
    sign_in(page, world.viewer)
    page.goto(address(task, site) + "/")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Back-test").click()
    expect(page.locator("[data-state]")).to_have_text("Tried 2 decisions of 1 task.")
    assert counts(page)["different"] == ("1", "1")
    assert counts(page)["same"] == ("1", "0")
    row = page.locator("[data-cells] tbody tr")
    expect(row).to_contain_text(re.compile(r"Different\s*build\s*→\scheck.*→\sother", re.DOTALL))
    row.get_by_role("link", name=task.name).click()
    expect(page).to_have_url(re.compile(re.escape(task.name)))


@pytest.mark.wide
def test_by_keyboard_another_version_is_chosen_and_tried(
    world: World, site: Site, page: Page, sign_in: SignIn, task: Task
) -> None:
    sign_in(page, world.viewer)
    page.goto(address(task, site) + "/backtest/")
    expect(page.locator("[data-backtest-result]")).to_be_hidden()
    page.get_by_label("Try", exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.textContent.trim()") != "Run back-test":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Tried 2 decisions of 1 task.")
    assert counts(page)["same"] == ("2", "1")
    expect(page.locator("[data-cells]")).to_be_hidden()
    assert "to=1" in page.url


@pytest.mark.wide
def test_what_fails_is_said_and_can_be_tried_again(
    world: World, site: Site, page: Page, sign_in: SignIn, task: Task
) -> None:
    sign_in(page, world.viewer)
    page.goto(address(task, site) + "/backtest/")
    page.route("**/api/**/backtest?*", lambda route: route.abort())
    page.get_by_role("button", name="Run back-test").click()
    expect(page.locator("[data-problem]")).to_contain_text("The connection ended before the result arrived")
    page.unroute("**/api/**/backtest?*")
    page.get_by_role("button", name="Run back-test").click()
    expect(page.locator("[data-problem]")).to_be_hidden()
    expect(page.locator("[data-state]")).to_have_text("Tried 2 decisions of 1 task.")


@pytest.mark.wide
def test_an_answer_that_ends_early_is_no_result(
    world: World, site: Site, page: Page, sign_in: SignIn, task: Task
) -> None:
    half = '{"type": "progress", "done": 1, "total": 2, "tasks": 0, "counts": {"same": 1}}\n{"type": "res'
    sign_in(page, world.viewer)
    page.goto(address(task, site) + "/backtest/")
    page.route(
        "**/api/**/backtest?*", lambda route: route.fulfill(content_type="application/x-ndjson", body=half)
    )
    page.get_by_role("button", name="Run back-test").click()
    expect(page.locator("[data-problem]")).to_contain_text("The connection ended")
    expect(page.locator("[data-state]")).to_have_text("1 of 2 decisions")


@pytest.mark.wide
def test_a_draft_that_became_invalid_is_told_with_its_reason(
    world: World, site: Site, page: Page, sign_in: SignIn, task: Task
) -> None:
    sign_in(page, world.viewer)
    page.goto(address(task, site) + "/backtest/")
    Line.objects.filter(pk=task.line_id).update(draft={**line(), "stations": []})
    page.get_by_role("button", name="Run back-test").click()
    expect(page.locator("[data-problem]")).to_contain_text("stations")


SCROLLS = """() => [...document.querySelectorAll("[data-cells], [data-cells] *")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible")
    .filter((each) => each.tagName !== "THEAD").map((each) => each.className || each.tagName)"""


@pytest.mark.smoke(1)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["1440", "390"])
def test_decisions_that_differ_are_read_on_the_publish_page_without_scrolling_sideways(
    world: World, site: Site, page: Page, sign_in: SignIn, task: Task, size: ViewportSize
) -> None:
    page.set_viewport_size(size)
    sign_in(page, world.designer)
    page.goto(address(task, site).removesuffix("versions") + "publish/")
    row = page.locator("[data-cells] tbody tr").first
    expect(row).to_be_visible()
    expect(row.get_by_role("link", name=task.name)).to_be_visible()
    assert page.evaluate(SCROLLS) == []
