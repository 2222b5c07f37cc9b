"""Several roles for one member, in a real browser; on a phone nothing covers a role."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pipelines.models import Membership, User
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def manage(page: Page, user: User) -> Locator:
    """From the list to the page of this member: its form of roles."""
    page.get_by_role("link", name=f"Manage {user}").click()
    expect(page.get_by_role("heading", name=str(user), level=1)).to_be_visible()
    return page.locator("#member")


@pytest.mark.wide
def test_what_a_role_includes_is_ticked_with_it_and_says_so(
    page: Page, sign_in: SignIn, world: World
) -> None:
    member = Membership.objects.get(user=world.operator)
    sign_in(page, world.admin)
    page.goto(at(world, "project-settings"))
    row = manage(page, world.operator)
    operator, reviewer = row.get_by_label("Operator"), row.get_by_label("Reviewer")
    reviewer.check()
    expect(operator).to_be_checked()
    expect(operator).to_be_disabled()
    expect(operator).to_have_accessible_description("included in Reviewer")
    reviewer.uncheck()
    expect(operator).to_be_checked()
    expect(operator).to_be_enabled()
    reviewer.check()
    row.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    expect(operator).to_be_checked()
    expect(operator).to_have_accessible_description("included in Reviewer")
    expect(row.get_by_label("Viewer", exact=True)).to_be_disabled()
    expect(row.get_by_label("Designer")).not_to_be_checked()
    member.refresh_from_db()
    assert member.roles == ["reviewer"]


@pytest.mark.wide
def test_a_form_that_came_back_is_above_the_page_at_what_is_wrong(
    page: Page, sign_in: SignIn, world: World
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "project-settings"))
    page.get_by_role("button", name="Invite people").click()
    page.get_by_label("E-mail addresses").fill("nobody")
    page.get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_text("is not an e-mail address")).to_be_visible()
    expect(page.locator("#invite:modal")).to_be_visible()
    expect(page.get_by_label("E-mail addresses")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#invite")).to_be_hidden()


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_an_admin_ticks_two_roles(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, viewport: dict[str, int]
) -> None:
    member = Membership.objects.get(user=world.viewer)
    context = new_context(viewport=viewport)
    sign_in(context, world.admin)
    page = context.new_page()
    page.goto(at(world, "project-settings"))
    row = manage(page, world.viewer)
    for name in ("Designer", "Reviewer"):
        # A click on the word itself: it fails where something covers it.
        row.get_by_text(name, exact=True).click()
        expect(row.get_by_label(name)).to_be_checked()
    row.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    member.refresh_from_db()
    assert member.roles == ["designer", "reviewer"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
