"""While what is shown is older than the news, the page says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from pipelines.models import User
from tests.factories import World
from tests.pages.conftest import at
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.browser, pytest.mark.moves, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def test_the_dot_says_so_while_what_is_shown_is_older_than_the_news(
    page: Page, sign_in: SignIn, world: World
) -> None:
    """An answer that does not come, then one that is refused; the page asks again by itself."""
    version = world.line(**gated())
    task = world.start(version)
    sign_in(page, world.operator)
    page.goto(at(world, "line-live", version.line.key))
    dot, column = (
        page.locator("[data-live-state]").first,
        page.locator("[data-column='station:ship'] .board-head b"),
    )
    expect(dot).to_have_attribute("data-state", "live")
    held: list[Route] = []

    def answer(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/*fragment=board*", answer)
    world.report(task)
    expect(dot).to_have_attribute("data-state", "behind")
    expect(dot).to_contain_text("catching up")
    held[0].fulfill(status=502, body="")
    expect(dot).to_have_attribute("data-state", "live")
    expect(page.locator("[data-column='gate:review'] .board-head b")).to_have_text("1")
    world.vote(task)
    expect(column).to_have_text("1")
