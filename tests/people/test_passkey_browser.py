"""A passkey in a real browser, with an authenticator that the browser plays."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import AdministrativeAct, User
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def with_authenticator(page: Page) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def by_password(page: Page, user: User) -> None:
    page.goto("/sign-in/")
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def signed_in(page: Page) -> None:
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()


@pytest.mark.wide
def test_a_passkey_signs_in_alone_and_beside_the_password(
    new_context: Callable[..., BrowserContext], site: Site, world: World
) -> None:
    # The site knows no hasher of the tests.
    hashed = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
    User.objects.filter(pk=world.viewer.pk).update(password=hashed)
    # A bare IP address has no passkeys.
    page = new_context(base_url=f"http://localhost:{urlsplit(site.url).port}").new_page()
    with_authenticator(page)
    by_password(page, world.viewer)
    signed_in(page)
    page.goto("/account/second-factor/")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Add passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes", level=1)).to_be_visible()
    assert AdministrativeAct.objects.get(kind="factor.added").name == world.viewer.username

    page.context.clear_cookies()
    page.goto("/sign-in/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    signed_in(page)

    page.context.clear_cookies()
    by_password(page, world.viewer)
    expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()
    page.get_by_role("button", name="Use a passkey").click()
    signed_in(page)

    page.goto("/account/second-factor/")
    page.get_by_role("listitem").filter(has_text="Laptop").get_by_role("link", name="Remove").click()
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    page.get_by_role("link", name="Use a passkey").click()
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Laptop")).to_have_count(0)
