"""The review of a change of three hundred files in a real browser: the odd one first, by keys, list and lines apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Task, User
from tests.browser.looking import look
from tests.changes.leaving import leave
from tests.changes.test_file_groups import ODD, sweep
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.reviews.conftest import gated
from tests.reviews.test_review_page_browser import top

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
REQUEST = (
    "Rename `limit` to `max_rate` in every service. Nothing else may change before the release of next week."
)
REASON = "Rename it everywhere, not only in the imports, and keep the old name as an alias for one release."
GROUP = "299 files with the same edit"


@pytest.fixture
def review(page: Page, sign_in: SignIn, world: World) -> Page:
    """The second round of the change, with everything that stands above it."""
    question = {
        "description": "Does it rename, and nothing else?",
        "offers": ["approve", "send_back", "reject"],
    }
    task = world.start(world.line(**gated(**question)), title="Rename the limit", description=REQUEST)
    before = {path: data.replace(b"max_rate", b"limit") for path, data in sweep(300).items()}
    leave(world, task, before)
    sign_in(page, world.reviewer)
    open_review(page, world, task)
    world.vote(task, "send_back", by=world.reviewer, reason=REASON)
    leave(world, task, {**sweep(300), ODD: sweep(300)[ODD] + b"run()\n"})
    open_review(page, world, task)
    return page


def open_review(page: Page, world: World, task: Task) -> None:
    page.goto(reverse("gate-visit", args=[world.visit(task).pk]))
    expect(page.locator("#changed-path")).to_contain_text("part137.py")


def test_the_first_changed_line_of_three_hundred_files_is_on_the_first_screen(
    review: Page, tmp_path: Path
) -> None:
    assert top(review, "tr:is(.diff-added, .diff-removed)") < 400
    for words in (REQUEST, REASON, "Does it rename, and nothing else?"):
        expect(review.locator(".review-asked")).to_contain_text(words)
    expect(review.locator(".review-asked")).to_be_in_viewport(ratio=1)
    look(review, tmp_path, "many-files")
    review.set_viewport_size(PHONE)
    assert top(review, "tr:is(.diff-added, .diff-removed)") < top(review, ".decision") - 100
    expect(review.locator(".asked-lines")).to_be_in_viewport(ratio=1)


def test_list_and_lines_scroll_by_themselves(review: Page) -> None:
    review.locator(".changed-group").click()
    expect(review.locator("#changed-path")).to_have_text(GROUP)
    page_height = review.evaluate("document.documentElement.scrollHeight")
    assert page_height < 2 * DESKTOP["height"], "three hundred names do not make the page long"
    files = review.locator("#changed-files")
    assert files.evaluate("list => list.scrollHeight > 3 * list.clientHeight")
    files.get_by_title("app/s11/part299.py").click()
    expect(review.locator("#changed-path")).to_have_text("app/s11/part299.py")
    current = files.locator("[aria-current=true]")
    expect(current).to_contain_text("part299.py")
    expect(current).to_be_in_viewport()
    expect(review.get_by_role("button", name="Approve")).to_be_in_viewport()


def test_keys_go_from_the_odd_file_to_the_group_and_filter(review: Page) -> None:
    review.keyboard.press("]")
    expect(review.locator("#changed-path")).to_have_text(GROUP)
    review.keyboard.press("[")
    expect(review.locator("#changed-path")).to_have_text(ODD)
    review.keyboard.press("f")
    filter_field = review.get_by_role("searchbox", name="Filter changed files by path")
    expect(filter_field).to_be_focused()
    review.keyboard.type("s03/part01")
    names = review.locator("#changed-list .changed-name")
    expect(names).to_have_text(["part015.py"])
    expect(review.locator("#changed-path")).to_have_text(ODD, use_inner_text=True)
    expect(filter_field).to_be_focused()
    review.keyboard.press("Enter")
    expect(review.locator("#changed-path")).to_have_text("app/s03/part015.py")
    expect(review.locator("#changed-path")).to_be_focused()
    review.keyboard.press("?")
    keys = review.locator("#shortcuts")
    for words in (
        "Next, previous changed file",
        "Mark the changed file as viewed",
        "Filter the changed files",
    ):
        expect(keys).to_contain_text(words)
