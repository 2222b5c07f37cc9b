"""Deciding in a real browser, with the mouse and with the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.reviews.test_needs import escalation, question

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.fixture
def dossier(page: Page, sign_in: SignIn, world: World, waiting: Task) -> Page:
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    return page


def test_a_click_approves(dossier: Page, world: World, waiting: Task) -> None:
    dossier.get_by_role("button", name="Approve → ship").click()
    expect(dossier.get_by_text("Nothing needs you.")).to_be_visible()
    assert world.at(waiting) == ["ship"]


def test_rejecting_asks_for_the_reason_first(dossier: Page, world: World, waiting: Task) -> None:
    reject = dossier.get_by_role("button", name="Reject")
    reject.click()
    reason = dossier.get_by_label("Reason")
    expect(reason).to_be_focused()
    assert world.status(waiting) == "awaiting_review"
    reason.fill("Not like this.")
    reject.click()
    expect(dossier.get_by_text("Nothing needs you.")).to_be_visible()
    assert world.status(waiting) == "failed"


def test_a_key_only_arms_and_escape_never_decides(dossier: Page, world: World, waiting: Task) -> None:
    approve = dossier.get_by_role("button", name="Approve → ship")
    dossier.keyboard.press("a")
    expect(approve).to_have_attribute("aria-pressed", "true")
    dossier.keyboard.press("Escape")
    expect(approve).to_have_attribute("aria-pressed", "false")
    assert world.status(waiting) == "awaiting_review"
    dossier.keyboard.press("a")
    dossier.keyboard.press("Control+Enter")
    expect(dossier.get_by_text("Nothing needs you.")).to_be_visible()
    assert world.at(waiting) == ["ship"]


def test_the_keyboard_alone_sends_back_with_a_reason(dossier: Page, world: World, waiting: Task) -> None:
    dossier.keyboard.press("r")
    dossier.keyboard.type("Please try again.")
    dossier.keyboard.press("Control+Enter")
    expect(dossier.get_by_text("Nothing needs you.")).to_be_visible()
    assert world.at(waiting) == ["build"]
    assert world.job(waiting).feedback == "Please try again."


def test_when_somebody_is_faster_the_buttons_go_and_the_text_stays(
    dossier: Page, world: World, waiting: Task
) -> None:
    dossier.keyboard.press("d")
    dossier.keyboard.type("A long thought.")
    other = world.reviewers(1)[0]
    world.vote(waiting, "approve", by=other)
    expect(dossier.get_by_text(str(other))).to_be_visible()
    expect(dossier.get_by_role("button", name="Reject")).to_have_count(0)
    expect(dossier.get_by_label("Reason")).to_have_value("A long thought.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE])
def test_the_dossier_has_no_serious_accessibility_problem(
    new_context: Callable[..., BrowserContext],
    sign_in: SignIn,
    world: World,
    waiting: Task,
    scheme: str,
    viewport: dict[str, int] | None,
) -> None:
    context = new_context(color_scheme=scheme, **({"viewport": viewport} if viewport else {}))
    sign_in(context, world.reviewer)
    page = context.new_page()
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    found = [v for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")]
    assert not found, [(v["id"], [n["target"] for n in v["nodes"]]) for v in found]
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


def test_a_question_is_answered_in_place_by_keys_alone_and_the_page_is_clean(
    page: Page, sign_in: SignIn, world: World
) -> None:
    asked, held = question(world), escalation(world)
    sign_in(page, world.admin)
    page.goto(reverse("needs-me"))
    expect(page.locator("#needs-count")).to_have_text("2")
    page.keyboard.press("j")
    first = page.locator(".need").first
    expect(first).to_be_focused()
    answer = first.locator("summary", has_text="Answer")
    answer.focus()
    page.keyboard.press("Enter")
    assert Axe().run(page).response["violations"] == []
    first.get_by_label("Answer").fill(" ")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(first.get_by_text("Not done.")).to_be_visible()
    expect(first.get_by_label("Answer"), "the refused form stays open").to_be_visible()
    first.get_by_label("Answer").fill("Blue")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Answered")).to_be_visible()
    expect(page.locator("#needs-count")).to_have_text("1")
    assert world.job(asked).feedback == "Blue"
    assert world.status(held) == "held"
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
