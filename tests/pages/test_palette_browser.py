"""Ctrl+K in a real browser: a person is opened, a command is done."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.mark.wide
def test_ctrl_k_opens_a_person_and_switches_the_theme(page: Page, sign_in: SignIn, world: World) -> None:
    reader = world.viewer
    sign_in(page, world.admin)
    page.goto(at(world, "lines"))
    page.goto(reverse("help"))
    page.keyboard.press("Control+k")
    page.get_by_role("option", name="Lines", exact=True).first.click()
    expect(page).to_have_url(re.compile(at(world, "lines") + "$"))
    page.goto(reverse("help"))

    def take(words: str, option: str) -> None:
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search lines, tasks, people, commands").fill(words)
        expect(page.get_by_role("option", name=option)).to_have_attribute(
            "data-combobox-option-default", "true"
        )
        page.keyboard.press("Enter")

    take("dark", "Dark theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    take(str(reader), str(reader))
    expect(page.get_by_role("heading", name=str(reader), level=1)).to_be_visible()
    take("sign out", "Sign out")
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


def test_the_palette_offers_no_page_of_another_site(page: Page, sign_in: SignIn, world: World) -> None:
    """An address with two slashes is one of ours, and alone it names another host."""
    sign_in(page, world.admin)
    page.goto(at(world, "lines"))
    page.goto(page.url.replace("/p/", "//elsewhere.example/p/", 1))
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    page.goto(reverse("help"))
    opened = page.evaluate("Object.entries(sessionStorage).filter(([name]) => name.startsWith('gl-recent '))")
    assert at(world, "lines") in str(opened) and "elsewhere.example" not in str(opened)
