"""An admin invites somebody and copies the link; a second browser joins by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Membership, User
from tests.factories import World
from tests.fixtures.browser import DESKTOP
from tests.pages.conftest import PASSWORD, at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def test_a_newcomer_joins_by_the_copied_link(
    page: Page, sign_in: SignIn, new_context: Callable[..., BrowserContext], world: World
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "project-settings"))
    page.get_by_role("button", name="Invite people").click()
    dialog = page.get_by_role("dialog", name="Invite people")
    dialog.get_by_label("E-mail addresses").fill("new@example.com")
    dialog.get_by_label("Reviewer").check()
    expect(dialog.get_by_label("Operator")).to_be_disabled()
    dialog.get_by_role("button", name="Invite", exact=True).click()
    row = page.get_by_role("row").filter(has_text="new@example.com")
    link = row.get_by_role("button", name="Copy link").get_attribute("data-copy") or ""
    expect(page.get_by_text("These links open only on this machine")).to_be_visible()

    joining = new_context(viewport=DESKTOP).new_page()
    joining.goto(link[link.index("/join/") :])
    expect(joining.get_by_text("invited you as Reviewer")).to_be_visible()
    joining.get_by_label("User name").fill("newcomer")
    joining.get_by_label("Password", exact=True).fill(PASSWORD)
    joining.get_by_label("Confirm password").fill(PASSWORD)
    joining.get_by_role("button", name="Create account and join").click()
    expect(joining.get_by_role("heading", name="Home", level=1)).to_be_visible()
    assert Membership.objects.get(user__username="newcomer").roles == ["reviewer"]

    page.reload()
    expect(page.get_by_role("row").filter(has_text="newcomer")).to_be_visible()
    expect(page.get_by_text("Pending invitations")).to_have_count(0)
