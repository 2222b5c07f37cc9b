"""The bell: it counts while the page is open, and leads to what it speaks of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.factories import World
from tests.pages.conftest import at
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.wide
def test_the_bell_counts_as_it_happens_and_leads_there(
    page: Page, sign_in: Callable[[Page | BrowserContext, User], None], world: World
) -> None:
    sign_in(page, world.reviewer)
    version = world.line(**gated())
    first, second = world.start(version, title="One"), world.start(version, title="Two")
    page.goto(at(world, "line-live", version.line.key))
    bell = page.get_by_role("button", name="Notifications")
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "live")
    for task, count in ((first, "1"), (second, "2")):
        world.report(task)
        expect(bell).to_contain_text(count)
    bell.click()
    behind = page.get_by_role("dialog", name="Notifications")
    behind.get_by_role("button", name="Mark as read: “One”").click()
    expect(behind.get_by_text("“One”")).to_have_count(0)
    expect(bell).to_contain_text("1")
    with page.expect_response("**fragment=count**"):
        behind.get_by_role("link", name="“Two” waits for your review").click()
    page.wait_for_url(f"**/inbox/{world.visit(second).pk}/")
    expect(page.get_by_role("button", name="Notifications")).not_to_contain_text("1")
