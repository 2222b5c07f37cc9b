"""Parts of a page that come anew while somebody presses a link in it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.factories import World
from tests.pages.conftest import at
from tests.reviews.conftest import gated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_link_that_is_pressed_while_its_part_comes_anew_takes_the_click(
    page: Page, sign_in: Callable[[Page | BrowserContext, User], None], world: World
) -> None:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task, {"result": "success"})
    sign_in(page, world.reviewer)
    page.goto(at(world, "task", task.name))
    link = page.locator("#task-live").get_by_role("link", name="Review", exact=True)
    link.evaluate("link => { link.dataset.pressed = 'yes'; }")
    link.hover()
    page.mouse.down()
    with page.expect_response(re.compile("fragment=live")):
        page.evaluate("htmx.trigger(document.body, 'gl:resync')")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert link.get_attribute("data-pressed") == "yes", "it is not replaced under the pointer"
    page.mouse.up()
    expect(page).to_have_url(re.compile("/inbox/"))
