"""The page of a review in a real browser: where the change begins, what zoom leaves of it, and the way to a vote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.axe import grave
from tests.browser.looking import look
from tests.changes.leaving import leave
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
QUESTION = "Does it stop guessing without locking out users?"
FILES = {f"app/accounts/part{number}.py": b"def allow(ip):\n    return True\n" for number in range(3)}
# 1440 x 900 at 400 %
ZOOMED = {"width": 360, "height": 225}


@pytest.fixture
def reviewed(world: World) -> Task:
    gate = {"name": "Code review", "description": QUESTION}
    task = world.start(world.line(**gated(**gate)), title="Add rate limiting to sign-in")
    leave(world, task, FILES)
    return task


@pytest.fixture
def review(page: Page, sign_in: SignIn, world: World, reviewed: Task) -> Page:
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(reviewed).pk]))
    return page


def top(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"]


def look_at_first_round(page: Page, sign_in: SignIn, world: World, task: Task) -> None:
    """Open the change, so that the next round begins with what changed since."""
    sign_in(page, world.reviewer)
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]))
    expect(page.locator("#changes .diff").first).to_be_visible()


def test_the_change_begins_on_the_first_screen(review: Page) -> None:
    assert top(review, "tr.diff-added") < 400
    expect(review.get_by_text(QUESTION)).to_be_in_viewport()
    review.set_viewport_size(PHONE)
    assert top(review, "tr.diff-added") < top(review, ".decision") - 100
    expect(review.get_by_text(QUESTION)).to_be_in_viewport()
    assert review.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert grave(review) == []


@pytest.mark.wide
def test_a_change_in_its_second_round_begins_on_the_first_screen(
    page: Page, sign_in: SignIn, world: World
) -> None:
    """Below why it was sent back, and what it is compared with."""
    task = world.start(world.line(**gated(description=QUESTION)), title="Add rate limiting to sign-in")
    source = b"from app.store import count\n\n\ndef allow(ip):\n    return True\n"
    leave(world, task, {"app/limit.py": source, "app/sign_in.py": source})
    look_at_first_round(page, sign_in, world, task)
    world.vote(task, "send_back", reason="Count the attempts.")
    leave(world, task, {"app/limit.py": source.replace(b"True", b"count(ip) < 5")})
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]))
    assert top(page, ".diff tr") < 400
    compared = page.locator(".review-tabs-row [aria-label='Compared with']")
    current = compared.locator("[aria-current=true]")
    expect(current).to_contain_text("Since you sent it back")
    compared.get_by_role("link", name="Since start").click()
    expect(current).to_contain_text("Since start")
    expect(compared).to_have_count(1)
    page.set_viewport_size(PHONE)
    assert top(page, ".diff tr") < top(page, ".decision") - 100
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert grave(page) == []


@pytest.mark.wide
def test_the_files_come_after_the_change_on_a_phone(review: Page) -> None:
    link = review.get_by_role("link", name="All 3 files")
    expect(link).to_be_hidden()
    review.set_viewport_size(PHONE)
    assert top(review, "#changed-files") > top(review, "tr.diff-added")
    link.click()
    expect(review.get_by_role("link", name="part2.py")).to_be_in_viewport()


def test_zoom_leaves_what_is_asked_to_be_read(review: Page) -> None:
    review.set_viewport_size(ZOOMED)
    question = review.get_by_text(QUESTION)
    question.scroll_into_view_if_needed()
    covers = """(element) => {
      const box = element.getBoundingClientRect();
      return document.elementFromPoint(box.left + 4, box.top + box.height / 2) !== element;
    }"""
    assert not question.evaluate(covers), "the decision bar does not lie over it"
    assert review.evaluate("document.documentElement.scrollWidth") <= ZOOMED["width"]


@pytest.mark.wide
def test_a_vote_is_three_clicks_from_the_mail(review: Page, world: World, reviewed: Task) -> None:
    """The link of the mail is the first. Files are opened by the key that goes through them."""
    expect(review.locator("#review-counts")).to_contain_text("2 of 3 files not opened")
    for path in list(FILES)[1:]:
        review.locator("body").press("]")
        expect(review.locator("#changed-path")).to_have_text(path)
    expect(review.locator("#review-counts")).not_to_contain_text("not opened")
    review.get_by_role("button", name="Approve → ship").click()
    review.get_by_role("button", name="Confirm approval").click()
    expect(review.locator(".task-head")).to_contain_text(reviewed.name)
    assert world.at(reviewed) == ["ship"]


def test_a_file_that_was_not_opened_is_amber_until_it_is(review: Page) -> None:
    files = review.locator("#changed-files")
    expect(files.get_by_role("link", name="not opened")).to_have_count(2)
    files.get_by_role("link", name="part1.py").click()
    expect(files.get_by_role("link", name="not opened")).to_have_count(1)
    review.set_viewport_size(DESKTOP)
    colour = "(element) => getComputedStyle(element).color"
    amber, opened = (
        files.locator(".tone-attention").evaluate(colour),
        files.locator(".muted.icon, .muted").last,
    )
    assert amber != opened.evaluate(colour)


def test_the_bar_says_what_a_decision_carries_and_voids(page: Page, sign_in: SignIn, world: World) -> None:
    who = {"approval": {"who": [{"role": "reviewer", "count": 2}]}}
    task = world.start(world.line(**gated(**who)))
    leave(world, task, FILES)
    first, second = world.reviewers(2)
    world.vote(task, "approve", by=first)
    sign_in(page, second)
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]))
    counts = page.locator("#review-counts")
    expect(counts).to_contain_text("Sending back or rejecting voids 1 approval")
    expect(counts).to_contain_text("Approves exactly these files, sha256")


def test_code_has_colours_and_moved_lines_name_their_other_place(
    page: Page, sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    block = b"def allow(ip):\n    # Three an hour\n    return count(ip) < 3\n"
    rest = b"".join(b"value_%d = 'text'\n" % number for number in range(8))
    task = world.start(world.line(**gated(offers=["approve", "send_back"])))
    leave(world, task, {"app/limit.py": block + rest})
    look_at_first_round(page, sign_in, world, task)
    world.vote(task, "send_back", by=world.reviewer, reason="Move it down.")
    leave(world, task, {"app/limit.py": rest + block})
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]))
    moved = page.locator("tr.diff-moved")
    expect(moved).to_have_count(6)
    expect(page.locator(".code-keyword", has_text="def")).to_have_count(2)
    expect(page.locator(".code-comment")).to_have_text(["# Three an hour"] * 2)
    page.get_by_role("link", name="Moved to line 9").click()
    expect(page.locator("#new-9")).to_be_in_viewport()
    page.get_by_role("link", name="Side by side").click()
    expect(page.locator("td.diff-half.diff-moved")).to_have_count(6)
    look(page, tmp_path, "colours")
