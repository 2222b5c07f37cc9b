"""A session that ends while somebody types: what was typed is there again once they have signed in, for them alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Line, Task, User
from tests.browser.canvas import add_station, saved
from tests.browser.conftest import Open
from tests.changes.leaving import leave
from tests.factories import World
from tests.pages.conftest import PASSWORD, at
from tests.reviews import inbox_items
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
AGAIN = "What you typed is here again."


@pytest.fixture(autouse=True)
def passwords(world: World) -> None:
    for user in (world.admin, world.reviewer):
        # The site knows no hasher of the tests.
        user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", 1_000)
        user.save()


@pytest.fixture
def waiting(world: World) -> Task:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task, {"result": "success", "summary": "Built it"})
    return task


def ends(page: Page) -> None:
    """The session, as when it expired; the browser does not know."""
    Session.objects.all().delete()


def enter(page: Page, user: User) -> None:
    expect(page).to_have_title(re.compile("Sign in"))
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def write_reason(page: Page, world: World, waiting: Task) -> str:
    address = reverse("gate-visit", args=[world.visit(waiting).pk])
    page.goto(address)
    page.get_by_role("button", name="Reject").click()
    page.get_by_label("Reason").fill("The lock-out is\nmissing.")
    return address


def test_a_decision_is_typed_again_and_sent(page: Page, sign_in: SignIn, world: World, waiting: Task) -> None:
    sign_in(page, world.reviewer)
    address = write_reason(page, world, waiting)
    ends(page)
    # By the keyboard: what a page says of an ended session moves what stands below it
    page.get_by_role("button", name="Confirm rejection").press("Enter")
    enter(page, world.reviewer)
    expect(page).to_have_url(re.compile(f"{address}([?].*)?$"))
    expect(page.get_by_text(AGAIN)).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("The lock-out is\nmissing.")
    assert world.status(waiting) == "awaiting_review"
    page.get_by_role("button", name="Confirm rejection").click()
    expect(page).to_have_url(re.compile(f"/tasks/{waiting.name}"))
    assert waiting.gate_visits.get().votes.get().reason.split() == ["The", "lock-out", "is", "missing."]
    page.goto(address)
    expect(page.get_by_text(AGAIN)).to_have_count(0)


@pytest.mark.wide
def test_somebody_else_who_signs_in_on_this_browser_sees_nothing_of_it(
    page: Page, sign_in: SignIn, world: World, waiting: Task
) -> None:
    sign_in(page, world.reviewer)
    address = write_reason(page, world, waiting)
    ends(page)
    # By the keyboard: what a page says of an ended session moves what stands below it
    page.get_by_role("button", name="Confirm rejection").press("Enter")
    enter(page, world.admin)
    expect(page).to_have_url(re.compile(f"{address}([?].*)?$"))
    page.wait_for_function("sessionStorage.getItem('gateline unsent') === null")
    expect(page.locator("#reason")).to_have_value("")
    assert "lock-out" not in page.evaluate("JSON.stringify([sessionStorage, localStorage])")


@pytest.mark.wide
def test_who_leaves_a_page_or_signs_out_finds_it_as_it_is(
    page: Page, sign_in: SignIn, world: World, waiting: Task
) -> None:
    sign_in(page, world.reviewer)
    address = write_reason(page, world, waiting)
    page.goto(reverse("home"))
    page.goto(address)
    expect(page.locator("#reason")).to_have_value("")
    write_reason(page, world, waiting)
    page.locator("button[popovertarget=user-menu]").click()
    page.get_by_role("menuitem", name="Sign out").click()
    enter(page, world.reviewer)
    page.goto(address)
    expect(page.locator("#reason")).to_have_value("")


@pytest.mark.wide
def test_an_answer_in_the_inbox_stays_and_is_there_again(page: Page, sign_in: SignIn, world: World) -> None:
    task = inbox_items.question(world)
    sign_in(page, world.admin)
    page.goto(reverse("needs-me"))
    form = page.locator("form[hx-post]").filter(has=page.locator("textarea[name=text]")).first
    page.locator("details").filter(has=form).first.locator("summary").click()
    form.locator("textarea").fill("Blue, as the sky.")
    ends(page)
    form.get_by_role("button").last.click()
    banner = page.locator("[data-failure=signed-out]")
    expect(banner).to_contain_text("What you typed is kept.")
    expect(form.locator("textarea")).to_have_value("Blue, as the sky.")
    banner.get_by_role("link", name="Sign in").click()
    enter(page, world.admin)
    expect(page).to_have_url(re.compile(reverse("needs-me")))
    expect(page.get_by_text(AGAIN)).to_be_visible()
    expect(form.locator("textarea")).to_be_visible()
    expect(form.locator("textarea")).to_have_value("Blue, as the sky.")
    form.get_by_role("button").last.click()
    expect(form).to_have_count(0)
    assert world.status(task) != "waiting_for_input"


@pytest.mark.wide
def test_a_comment_on_a_line_is_there_again_at_its_line(page: Page, sign_in: SignIn, world: World) -> None:
    task = world.start(world.line(**gated()), title="Add login")
    leave(world, task, {"a.py": b"one = 1\n", "b.py": b"two = 2\nthree = 3\n"})
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]) + "?file=b.py")
    page.get_by_role("link", name="Comment on line 2").click()
    page.get_by_role("textbox", name="Comment on line 2").fill("Why three?")
    ends(page)
    page.get_by_role("textbox", name="Comment on line 2").press("Control+Enter")
    page.locator("[data-failure=signed-out]").get_by_role("link", name="Sign in").click()
    enter(page, world.reviewer)
    expect(page.get_by_text(AGAIN)).to_be_visible()
    expect(page.get_by_role("textbox", name="Comment on line 2")).to_have_value("Why three?")
    page.get_by_role("textbox", name="Comment on line 2").press("Control+Enter")
    expect(page.get_by_text("1 draft comment")).to_be_visible()


@pytest.mark.wide
def test_a_form_from_before_somebody_signed_in_again_in_another_tab_leads_back(
    page: Page, sign_in: SignIn, world: World
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "project-secrets"))
    page.get_by_label("Name", exact=True).fill("API_HOST")
    page.get_by_label("Kind").select_option("variable")
    page.get_by_label("Value").fill("not to be kept")
    ends(page)
    other = page.context.new_page()
    other.goto("/sign-in/")
    enter(other, world.admin)
    expect(other.get_by_role("heading", name="Home", level=1)).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="The form is out of date")).to_be_visible()
    page.get_by_role("link", name="Go back").click()
    expect(page.get_by_text(AGAIN)).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("API_HOST")
    expect(page.get_by_label("Kind")).to_have_value("variable")
    expect(page.get_by_label("Value")).to_have_value("")
    assert "not to be kept" not in page.evaluate("JSON.stringify([sessionStorage, localStorage])")


@pytest.mark.wide
def test_what_repeats_by_itself_leads_nobody_away(page: Page, sign_in: SignIn, world: World) -> None:
    sign_in(page, world.admin)
    address = at(world, "project-general")
    page.goto(address)
    page.get_by_label("Name", exact=True).first.fill("Renamed")
    ends(page)
    page.evaluate("htmx.trigger(document.body, 'gl:resync'); htmx.trigger(document.body, 'gl:changed')")
    expect(page.locator("[data-failure=signed-out]")).to_be_visible()
    expect(page).to_have_url(re.compile(f"{address}([?].*)?$"))
    expect(page.get_by_label("Name", exact=True).first).to_have_value("Renamed")


@pytest.mark.wide
def test_the_canvas_comes_back_with_its_changes_for_who_made_them(
    world: World, drawn: Line, open_canvas: Open
) -> None:
    page = open_canvas(world.admin)
    ends(page)
    add_station(page)
    banner = page.get_by_role("alert").filter(has_text="You are signed out")
    banner.get_by_role("link", name="Sign in").click()
    enter(page, world.reviewer)
    page.wait_for_load_state()
    page.goto(at(world, "line-draw", "drawn"))
    expect(page.locator(".react-flow__node[data-id=manual]")).to_have_count(0)
    page.context.clear_cookies()
    page.goto(f"/sign-in/?next={at(world, 'line-draw', 'drawn')}")
    enter(page, world.admin)
    expect(page.locator(".react-flow__node[data-id=manual]")).to_be_visible()
    saved(page)
    drawn.refresh_from_db()
    assert [each["key"] for each in drawn.draft["stations"]] == ["build", "ship", "manual"]


def test_an_hour_without_the_session_ends_it(
    page: Page, sign_in: SignIn, world: World, waiting: Task
) -> None:
    """Whoever finds the browser of somebody who left reads nothing of it."""
    sign_in(page, world.reviewer)
    page.clock.install()
    write_reason(page, world, waiting)
    ends(page)
    # By the keyboard: what a page says of an ended session moves what stands below it
    page.get_by_role("button", name="Confirm rejection").press("Enter")
    expect(page).to_have_title(re.compile("Sign in"))
    stored = "sessionStorage.getItem('gateline unsent')"
    page.clock.fast_forward("59:00")
    assert "The lock-out is" in page.evaluate(stored)
    page.clock.fast_forward("02:00")
    assert page.evaluate(stored) is None
    enter(page, world.reviewer)
    expect(page).not_to_have_title(re.compile("Sign in"))
    expect(page.get_by_text(AGAIN)).to_have_count(0)
