"""The main job in a real browser: sign in by the link, start a check, watch it move, approve, see it merged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Page, Route, expect

from pipelines.models import Artifact, Delivery, Task, User
from tests.browser.looking import tick_unopened
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.fixtures.site import Site
from tests.pages.conftest import at
from tests.waiting import until

PASSWORD = "correct horse battery"


@pytest.mark.wide
def test_from_the_sign_in_link_to_the_merged_branch(
    new_context: Callable[..., BrowserContext],
    own_site: Site,
    demo: World,
    link: str,
    hands: subprocess.Popen[bytes],
) -> None:
    page = new_context(base_url=own_site.url).new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Set the password").click()
    expect(page.locator("#first-task").get_by_role("button", name="Start")).to_be_visible()

    page.goto(at(demo, "task-new", "repository-check"))
    page.get_by_label("Title").fill("Check the sums")
    page.get_by_role("button", name="Start the task").click()
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")

    # Watched without a reload: a mark in the page's script survives only if the page does.
    page.evaluate("window.sameDocument = true")
    pill = page.locator(".task-head [data-status]")
    expect(pill).to_have_attribute("data-status", "awaiting_review")
    expect(page.locator(".history")).to_contain_text("Human review")
    assert page.evaluate("window.sameDocument") is True

    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_role("button", name=re.compile("Approve")).click()
    tick_unopened(page)
    # Whoever leaves the page before the answer takes the word back.
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Confirm approval").click()
    task = Task.objects.get()
    page.goto(at(demo, "task", task.name))
    expect(page.locator(".task-head [data-status]")).to_have_attribute("data-status", "completed")
    assert Delivery.objects.filter(task=task).exists()
    assert Artifact.objects.filter(task=task, name="tests.xml").exists()
    page.get_by_role("link", name="Artifacts").click()
    expect(page.get_by_role("link", name="Download").first).to_be_visible()


@pytest.mark.wide
def test_a_move_is_shown_although_the_answer_that_was_under_way_does_not_know_it(
    page: Page, site: Site, demo: World, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, demo.admin)
    task = demo.start(demo.line(stations=["build", "ship"], key="small"), by=demo.admin, title="Move me")
    before: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if before:
            route.continue_()
        else:
            before.append((route, route.fetch()))

    page.route("**/*fragment=board*", hold)
    page.goto(at(demo, "line-live", "small"))
    until(lambda: before, "the request for the board", page)
    # The page has asked at its start, and asks again when it has heard of the move.
    page.evaluate(
        "document.body.addEventListener('gl:task', () =>"
        " document.body.addEventListener('gl:changed', () => { window.told = true }))"
    )
    demo.report(task)
    until(lambda: page.evaluate("window.told"), "the page to hear of the move", page)
    route, response = before[0]
    route.fulfill(response=response)
    expect(page.locator("[data-column='station:ship']")).to_contain_text("Move me")


@pytest.mark.wide
def test_a_card_moves_on_the_board_without_a_reload_and_keeps_the_place_on_the_page(
    page: Page, site: Site, demo: World, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, demo.admin)
    version = demo.line(stations=["build", "ship"], key="small")
    task = demo.start(version, by=demo.admin, title="Move me")
    page.goto(at(demo, "line-live", "small"))
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    page.evaluate("window.sameDocument = true")
    column = page.locator("[data-column='station:build']")
    expect(column).to_contain_text("Move me")
    demo.report(task)
    expect(page.locator("[data-column='station:ship']")).to_contain_text("Move me")
    expect(column).not_to_contain_text("Move me")
    demo.report(task)
    expect(page.locator("[data-column='ended']")).to_contain_text("Move me")
    assert page.evaluate("window.sameDocument") is True


@pytest.mark.wide
def test_no_move_is_lost_while_the_network_is_gone(
    page: Page, site: Site, demo: World, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, demo.admin)
    task = demo.start(demo.line(stations=["build", "ship"], key="small"), by=demo.admin, title="Move me")
    page.goto(at(demo, "line-live", "small"))
    state = page.locator("[data-live-state]")
    expect(state).to_have_attribute("data-state", "live")
    page.context.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('offline'))")
    demo.report(task)
    demo.report(task)
    page.context.set_offline(False)
    expect(page.locator("[data-column='ended']")).to_contain_text("Move me")


@pytest.mark.wide
def test_the_theme_is_changed_at_once_and_stays(
    page: Page, site: Site, demo: World, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, demo.admin)
    page.goto("/")
    page.get_by_role("button", name=re.compile("admin", re.I)).click()
    with page.expect_response("**/preferences/**"):
        page.get_by_role("menuitemradio", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.wide
def test_the_board_shows_one_column_at_390_px(
    new_context: Callable[..., BrowserContext], demo: World, sign_in: Callable[[BrowserContext, User], None]
) -> None:
    context = new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    sign_in(context, demo.admin)
    version = demo.line(stations=["build", "ship"], key="small")
    one, two = (demo.start(version, by=demo.admin, title=title) for title in ("First", "Second"))
    demo.report(two)
    page = context.new_page()
    page.goto(at(demo, "line-live", "small"))
    expect(page.locator(".board-column:visible")).to_have_count(1)
    expect(page.get_by_text("First", exact=True)).to_be_visible()
    page.get_by_label("Column").select_option("station:ship")
    expect(page.get_by_text("Second", exact=True)).to_be_visible()
    expect(page.get_by_text("First", exact=True)).to_be_hidden()
    # A new snapshot keeps the chosen column.
    demo.report(one)
    expect(page.get_by_text("First", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.wide
def test_a_problem_leads_to_its_line_in_the_text(
    page: Page, site: Site, demo: World, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, demo.admin)
    demo.line(stations=["build", "ship"], key="small")
    page.goto(at(demo, "line-edit", "small"))
    text = page.get_by_label("Line document")
    typed = text.input_value().replace("kind: noop", "kind: nonsense", 1)
    text.fill(typed)
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("[data-gutter] [data-problem]")).to_have_count(1)
    page.locator("[data-go-line]").first.click()
    chosen = page.evaluate(
        "(() => { const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd) })()"
    )
    assert "nonsense" in chosen
