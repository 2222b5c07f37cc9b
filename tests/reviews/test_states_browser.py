"""The inbox and its reviews in every state, as people see them: both widths, both themes, and axe."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import GateVisit, Group, LineVersion, Task, User
from reviews.inbox.lists import PAGE
from reviews.models import AskedPlace
from tests.axe import grave
from tests.browser.looking import look
from tests.factories import World, station
from tests.reviews.test_bulk import waits

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def test_each_choice_draws_its_path(page: Page, sign_in: SignIn, world: World, waiting: Task) -> None:
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(waiting).pk]))
    page.locator(".evidence-more").click()
    drawn = page.locator(".review-paths")
    drawn.locator("summary").click()
    ship, build = (drawn.locator(f'[data-id="{key}"] .ed-station') for key in ("ship", "build"))
    expect(ship).to_have_attribute("data-mark", "active")
    expect(build).to_have_attribute("data-mark", "attention")
    page.keyboard.press("r")
    expect(drawn.get_by_label("Send back")).to_be_checked()
    expect(ship).to_have_attribute("data-mark", "not")
    expect(build).to_have_attribute("data-mark", "active")
    expect(drawn).to_contain_text("runs again")
    page.keyboard.press("Escape")
    drawn.get_by_label("Approve").check()
    expect(ship).to_have_attribute("data-mark", "active")
    told = json.loads(drawn.get_by_label("Reject").get_attribute("data-path") or "")
    assert told["places"]["failed"]["state"] == "danger"
    assert grave(page) == []
    assert world.status(waiting) == "awaiting_review"


@pytest.mark.wide
def test_shift_and_a_letter_choose_several(
    page: Page, sign_in: SignIn, world: World, line: LineVersion
) -> None:
    for number in range(4):
        waits(world, line, f"Task {number}")
    late = GateVisit.objects.order_by("opened_at").first()
    assert late is not None
    sign_in(page, world.reviewer)
    page.goto(reverse("needs-me"))
    expect(page.locator("#inbox-list")).to_contain_text("4 need you")
    # The first is open already: J goes to the second.
    page.keyboard.press("j")
    # A list that fetches itself anew meanwhile leaves the focus where it was.
    with page.expect_response(lambda answer: "fragment=list" in answer.url):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('gl:changed'))")
    expect(page.locator(".inbox-row").nth(1)).to_be_focused()
    for _number in range(2):
        page.keyboard.press("Shift+J")
    bar = page.locator("[data-chosen]")
    expect(bar).to_contain_text("3 selected")
    page.keyboard.press("Shift+K")
    expect(bar).to_contain_text("2 selected")
    page.keyboard.press("Shift+J")
    expect(bar).to_contain_text("3 selected")
    boxes = page.locator("[data-choose]")
    assert [boxes.nth(number).is_checked() for number in range(4)] == [False, True, True, True]


@pytest.mark.wide
def test_the_list_goes_on_where_it_ends(page: Page, sign_in: SignIn, world: World, line: LineVersion) -> None:
    for number in range(PAGE + 3):
        waits(world, line, f"Task {number}")
    sign_in(page, world.reviewer)
    page.goto(reverse("needs-me"))
    rows = page.locator(".inbox-row")
    expect(rows).to_have_count(PAGE)
    # Down to the last that is there: what comes after it is fetched as it comes into view, and J goes on to it.
    for number in range(1, PAGE):
        page.keyboard.press("j")
        expect(rows.nth(number)).to_be_focused()
    page.keyboard.press("j")
    expect(rows).to_have_count(PAGE + 3)
    expect(rows.nth(PAGE)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(PAGE - 1)).to_be_focused()


@pytest.mark.wide
def test_a_list_that_fetches_itself_anew_keeps_its_rows_and_what_is_chosen(
    page: Page, sign_in: SignIn, world: World, line: LineVersion
) -> None:
    tasks = [waits(world, line, f"Task {number}") for number in range(PAGE + 5)]
    sign_in(page, world.reviewer)
    page.goto(reverse("needs-me"))
    rows, boxes = page.locator(".inbox-row"), page.locator("[data-choose]")
    page.locator("#inbox-more").click()
    expect(rows).to_have_count(PAGE + 5)
    for number in (1, PAGE + 2):
        rows.nth(number).focus()
        page.keyboard.press("x")
    bar = page.locator("[data-chosen]")
    expect(bar).to_contain_text("2 selected")
    world.vote(tasks[4], by=world.reviewers(1)[0])
    with page.expect_response(lambda answer: "fragment=list" in answer.url):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('gl:changed'))")
    expect(rows).to_have_count(PAGE + 4)
    expect(bar).to_contain_text("2 selected")
    expect(rows.nth(PAGE + 1)).to_be_focused()
    expect(boxes.nth(PAGE + 1)).to_be_checked()


@pytest.mark.wide
def test_every_state_can_be_looked_at(
    page: Page, sign_in: SignIn, world: World, line: LineVersion, tmp_path: Path
) -> None:
    sign_in(page, world.reviewer)
    page.goto(reverse("needs-me"))
    look(page, tmp_path, "empty")
    gate = {
        "key": "review",
        "name": "Security review",
        "due": {"after": "4h", "business": True},
        "approval": {"who": [{"group": "security", "count": "all"}, {"role": "reviewer"}]},
    }
    fix = {
        "id": "fix",
        "label": "Tests failed",
        "when": {"result": "failure"},
        "to": "build",
        "max_retries": 2,
    }
    on = {"id": "on", "label": "Ready", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}
    version = world.line(
        key="release",
        name="Release",
        stations=[station("build", on, fix, name="Build"), "ship"],
        gates=[gate],
    )
    group = Group.objects.create(project=world.project, key="security", name="Security")
    group.members.add(world.reviewer, *world.reviewers(2))
    one = waits(world, version, "Let people sign in with a key")
    late = timezone.now() - timedelta(hours=2)
    GateVisit.objects.filter(task=one).update(due_at=late)
    AskedPlace.objects.filter(visit__task=one).update(order_at=late)
    for number in range(3):
        waits(world, line, f"Add a page for report {number}")
    page.goto(reverse("needs-me"))
    look(page, tmp_path, "inbox")
    page.goto(reverse("needs-me") + "?state=snoozed")
    look(page, tmp_path, "filtered-empty")
    page.goto(reverse("gate-visit", args=[world.visit(one).pk]))
    page.locator(".evidence-more").click()
    page.locator(".review-paths > summary").click()
    page.locator(".review-paths .ed-station").first.wait_for()
    look(page, tmp_path, "review")
    page.keyboard.press("d")
    look(page, tmp_path, "review-reject")
    two = Task.objects.get(title="Add a page for report 0")
    page.goto(reverse("gate-visit", args=[world.visit(two).pk]))
    page.keyboard.press("a")
    page.get_by_label("Note").fill("What I typed.")
    # The news of it would take the button away before it is pressed.
    page.evaluate("document.querySelector('#decision-words').removeAttribute('hx-get')")
    world.vote(two, "approve", by=world.reviewers(1)[0])
    page.get_by_role("button", name="Confirm approval").click()
    expect(page.get_by_text("Somebody was faster.")).to_be_visible()
    look(page, tmp_path, "lost-race")
    rest = [str(world.visit(task).pk) for task in Task.objects.filter(title__endswith=("1"))]
    page.goto(reverse("gate-bulk") + f"?word=approve&visit={rest[0]}&visit={world.visit(one).pk}")
    look(page, tmp_path, "bulk")
    for name, address in (("away", "account-away"), ("chats", "account-chats")):
        page.goto(reverse(address))
        look(page, tmp_path, name)
    sign_in(page, world.admin)
    project = [world.project.owner.key, world.project.key]
    for name in ("project-channels", "project-working-time", "project-general"):
        page.goto(reverse(name, args=project))
        look(page, tmp_path, name)
    page.goto(reverse("gate-visit", args=[world.visit(one).pk]))
    page.locator(".evidence-more").click()
    page.locator(".review-paths > summary").click()
    page.locator(".review-paths .ed-station").first.wait_for()
    look(page, tmp_path, "review-admin")
