"""Deciding in a real browser, with the mouse and with the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.axe import grave
from tests.factories import World
from tests.fixtures.browser import PHONE
from tests.reviews.inbox_items import escalation, question

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.fixture
def dossier(page: Page, sign_in: SignIn, world: World, waiting: Task) -> Page:
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    return page


def test_keys_are_told_where_there_is_a_row_to_move_to(page: Page, sign_in: SignIn, world: World) -> None:
    sign_in(page, world.reviewer)
    page.goto(reverse("needs-me"))
    expect(page.get_by_text("Nothing needs you")).to_be_visible()
    expect(page.locator(".inbox-keys")).to_be_hidden()
    question(world)
    page.goto(reverse("needs-me"))
    expect(page.locator(".inbox-keys")).to_be_visible()


@pytest.mark.wide
def test_approving_says_what_happens_and_takes_a_second_step(
    dossier: Page, world: World, waiting: Task
) -> None:
    approve, panel = dossier.get_by_role("button", name="Approve → ship"), dossier.locator("#decision-panel")
    expect(panel).to_be_hidden()
    approve.dblclick()
    expect(panel).to_contain_text("Ship starts.")
    expect(panel.get_by_role("button", name="Confirm")).to_have_count(1)
    expect(dossier.get_by_label("Note")).to_be_focused()
    assert world.status(waiting) == "awaiting_review", "not even a double click decides"
    panel.get_by_role("button", name="Cancel").click()
    expect(panel).to_be_hidden()
    expect(approve).to_be_focused()
    approve.click()
    dossier.get_by_label("Note").fill("Well done.")
    panel.get_by_role("button", name="Confirm approval").click()
    expect(dossier.locator(".task-head")).to_contain_text(waiting.name)
    assert world.at(waiting) == ["ship"]
    assert waiting.gate_visits.get().votes.get().reason == "Well done."
    expect(dossier.get_by_text("approved. Ship starts.")).to_be_visible()
    world.report(waiting, {"result": "success"})
    expect(dossier.locator(".task-head")).to_contain_text("Completed")
    expect(dossier.get_by_text("approved. Ship starts.")).to_be_hidden()


def test_the_inbox_has_one_heading_on_every_width(
    page: Page, sign_in: SignIn, world: World, waiting: Task
) -> None:
    """On a phone the list is there alone, and the review that stands beside it elsewhere is hidden."""
    sign_in(page, world.reviewer)
    for address in ("/inbox/", reverse("gate-visit", args=[world.visit(waiting).pk])):
        for size in (PHONE, {"width": 1440, "height": 900}):
            page.set_viewport_size(size)
            page.goto(address)
            expect(page.get_by_role("heading", level=1)).to_have_count(1)
            run_only = {"runOnly": ["page-has-heading-one"]}
            assert Axe().run(page, None, run_only).response["violations"] == [], (address, size)


@pytest.mark.wide
def test_before_any_script_is_there_a_click_decides_nothing_either(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, waiting: Task
) -> None:
    page = new_context(java_script_enabled=False).new_page()
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    panel = page.locator("#decision-panel")
    page.get_by_role("button", name="Approve → ship").click()
    expect(panel).to_contain_text("Ship starts.")
    assert world.status(waiting) == "awaiting_review"
    panel.get_by_role("button", name="Cancel").click()
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Approve → ship").click()
    page.get_by_label("Note").fill("Well done.")
    panel.get_by_role("button", name="Confirm approval").click()
    expect(page.locator(".task-head")).to_contain_text(waiting.name)
    assert waiting.gate_visits.get().votes.get().reason == "Well done."


@pytest.mark.wide
def test_rejecting_asks_for_the_reason_first(dossier: Page, world: World, waiting: Task) -> None:
    dossier.get_by_role("button", name="Reject").click()
    reason = dossier.get_by_label("Reason")
    expect(reason).to_be_focused()
    assert world.status(waiting) == "awaiting_review"
    reason.fill("Not like this.")
    dossier.get_by_role("button", name="Confirm rejection").click()
    expect(dossier.locator(".task-head")).to_contain_text(waiting.name)
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
    expect(dossier.locator(".task-head")).to_contain_text(waiting.name)
    assert world.at(waiting) == ["ship"]


@pytest.mark.wide
def test_the_keyboard_alone_sends_back_with_a_reason(dossier: Page, world: World, waiting: Task) -> None:
    dossier.keyboard.press("r")
    dossier.keyboard.type("Please try again.")
    dossier.keyboard.press("Control+Enter")
    expect(dossier.locator(".task-head")).to_contain_text(waiting.name)
    assert world.at(waiting) == ["build"]
    assert world.job(waiting).feedback == "Please try again."


def test_when_somebody_is_faster_the_buttons_go_and_the_text_stays(
    dossier: Page, world: World, waiting: Task
) -> None:
    """What only serves to decide goes, the state is that of now, and what was typed can still be copied."""
    state, keys = (
        dossier.locator("#dossier-state"),
        dossier.get_by_text("Nothing is decided until you confirm."),
    )
    expect(state).to_contain_text("Waiting for review")
    expect(keys).to_be_visible()
    dossier.keyboard.press("d")
    dossier.keyboard.type("A long thought.")
    other = world.reviewers(1)[0]
    world.vote(waiting, "approve", by=other)
    expect(dossier.get_by_text(str(other))).to_be_visible()
    expect(dossier.get_by_role("button", name="Reject")).to_have_count(0)
    expect(dossier.get_by_label("Reason")).to_have_count(0)
    expect(keys).to_have_count(0)
    expect(state).to_contain_text("Queued")
    expect(dossier.get_by_text("A long thought.")).to_be_visible()


@pytest.mark.wide
def test_who_sends_a_word_too_late_finds_no_field_to_decide_with(
    dossier: Page, world: World, waiting: Task
) -> None:
    dossier.keyboard.press("d")
    dossier.keyboard.type("A long thought.")
    dossier.route("**/gates/**fragment=bar**", lambda route: route.abort())
    other = world.reviewers(1)[0]
    dossier.evaluate("document.querySelector('#decision-words').removeAttribute('hx-get')")
    world.vote(waiting, "approve", by=other)
    dossier.keyboard.press("Control+Enter")
    expect(dossier.get_by_text("Somebody was faster.")).to_be_visible()
    expect(dossier.get_by_text("A long thought.")).to_be_visible()
    expect(dossier.get_by_label("Reason")).to_have_count(0)
    expect(dossier.get_by_text("Nothing is decided until you confirm.")).to_have_count(0)
    assert world.at(waiting) == ["ship"]


CONTRAST = """(element) => {
  const numbers = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (color) => {
    const [r, g, b] = numbers(color).map(part);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(element);
  const [high, low] = [light(style.color), light(style.backgroundColor)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.wide
def test_armed_buttons_can_be_read_and_keep_their_size(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, waiting: Task, scheme: str
) -> None:
    context = new_context(color_scheme=scheme, reduced_motion="reduce")
    sign_in(context, world.reviewer)
    page = context.new_page()
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    buttons = [page.get_by_role("button", name=name) for name in ("Approve →", "Send back →", "Reject:")]
    before = [button.bounding_box() for button in buttons]
    for key, button in zip("ard", buttons, strict=True):
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
        expect(button).to_have_attribute("aria-pressed", "true")
        page.mouse.move(0, 0)
        assert button.evaluate(CONTRAST) >= 4.5, key
        assert [each.bounding_box() for each in buttons] == before, key


@pytest.mark.wide
def test_the_reason_says_where_it_goes(dossier: Page) -> None:
    kept = dossier.locator("#reason-help").get_by_text("Kept with the task and in its history.")
    feedback = dossier.get_by_text("Goes to build as feedback, and is kept in the history.")
    dossier.get_by_role("button", name="Reject").click()
    expect(kept.filter(visible=True)).to_have_count(1)
    expect(feedback).to_be_hidden()
    dossier.get_by_role("button", name="Send back").click()
    expect(feedback).to_be_visible()
    expect(kept.filter(visible=True)).to_have_count(0)


@pytest.mark.smoke(1)
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
    assert grave(page) == []
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


@pytest.mark.wide
def test_a_question_is_answered_in_place_by_keys_alone_and_the_page_is_clean(
    page: Page, sign_in: SignIn, world: World
) -> None:
    asked, held = question(world), escalation(world)
    sign_in(page, world.admin)
    page.goto(reverse("needs-me"))
    expect(page.locator("#needs-count")).to_have_text("2")
    page.keyboard.press("j")
    expect(page.locator(".inbox-row").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("#dossier-title"), "the open item has the focus").to_be_focused()
    first = page.locator(".need").first
    field = first.get_by_label("Answer")
    for _ in range(4):
        if not field.evaluate("element => element === document.activeElement"):
            page.keyboard.press("Tab")
    expect(field, "a few steps, and not past the whole shell").to_be_focused()
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
    expect(page.locator("#dossier-title"), "the next item").to_contain_text(held.name)
    expect(page.locator("#needs-count")).to_have_text("1")
    expect(page.locator("#inbox-tab-needs-me .badge")).to_have_text("1")
    assert world.job(asked).feedback == "Blue"
    assert world.status(held) == "held"
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
