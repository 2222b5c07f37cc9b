"""Ctrl K typed faster than the server answers: Enter takes what was found for the words that stand there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at
from tests.waiting import until

PALETTE = re.compile(r"/palette/")
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_enter_waits_for_the_answer_to_what_was_typed(
    page: Page, site: Site, sign_in: Callable[[Page, User], None], world: World
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "lines"))
    page.keyboard.press("Control+k")
    options = page.locator("#palette-found [role=option]")
    expect(options.first).to_contain_text("New task")
    held: list[Route] = []
    page.route(PALETTE, lambda route: held.append(route))
    page.keyboard.type("setup")
    page.keyboard.press("Enter")
    # Two frames: whoever follows Enter at once has left by then.
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
    )
    expect(page).to_have_url(re.compile(re.escape(at(world, "lines"))))
    expect(page.get_by_role("combobox", name="Search lines")).to_have_value("setup")
    until(lambda: held, "the request", page)
    for route in held:
        route.continue_()
    page.unroute(PALETTE)  # not before: that lets all of them go on
    expect(page).to_have_url(re.compile(r"/setup/"))


@pytest.mark.wide
def test_more_that_is_typed_takes_the_enter_back(
    page: Page, site: Site, sign_in: Callable[[Page, User], None], world: World
) -> None:
    sign_in(page, world.admin)
    page.goto(at(world, "lines"))
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-found [role=option]").first).to_contain_text("New task")
    held: list[Route] = []
    # Nothing is found before more is typed, however slow this machine is
    page.route(PALETTE, lambda route: held.append(route))
    page.keyboard.type("set")
    page.keyboard.press("Enter")
    page.keyboard.type("up")
    until(lambda: held, "the request", page)
    for route in held:
        route.continue_()
    page.unroute(PALETTE)
    expect(page.locator("#palette-found [role=option]").first).to_contain_text("Set up")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/setup/"))
