"""The tests of a line in a real browser: made with one click, read on a phone, and good for everybody."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines import scenarios
from pipelines.models import User
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at
from tests.pages.test_line_tests import LINE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
WRONG = {
    "key": "wrong",
    "name": "Goes on",
    "steps": [{"outcome": {"result": "failure"}}],
    "expect": {"path": ["build", "ship"]},
}


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("size", "theme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop-light", "phone-dark"]
)
def test_they_are_made_run_and_read(
    new_context: Callable[..., BrowserContext],
    sign_in: SignIn,
    world: World,
    size: dict[str, int],
    theme: str,
) -> None:
    line = world.line(LINE).line
    context = new_context(viewport=size, color_scheme=theme)
    sign_in(context, world.designer)
    page = context.new_page()
    page.goto(at(world, "line-tests", line.key))
    expect(page.get_by_role("heading", name="No scenarios yet")).to_be_visible()
    page.get_by_role("button", name="Generate one per live rule").click()
    expect(page.get_by_text("2 of 2 rules taken, 100%")).to_be_visible()
    scenarios.store_scenario(line, WRONG, world.designer, timezone.now())
    page.get_by_role("button", name="Run against live, v1").click()
    expect(page.get_by_text("expected ship, got build")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("button", name="Delete Goes on").click()
    expect(page.get_by_text("expected ship, got build")).to_have_count(0)
