"""What narrows a board stays when another view of it is opened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_search_goes_along_to_another_view(
    page: Page, sign_in: Callable[[Page | BrowserContext, User], None], world: World
) -> None:
    version = world.line()
    for title in ("Paint the door", "Sweep the floor"):
        world.start(version, title=title)
    sign_in(page, world.operator)
    for address in (at(world, "line-live", version.line.key), reverse("tasks-live")):
        page.goto(address)
        expect(page.get_by_role("link", name="Sweep the floor")).to_be_visible()
        page.get_by_label("Find a task").fill("door")
        expect(page.get_by_role("link", name="Sweep the floor")).to_have_count(0)
        page.get_by_role("link", name="Timeline").click()
        expect(page.get_by_role("link", name="Timeline")).to_have_attribute("aria-current", "true")
        expect(page.get_by_role("link", name="Paint the door")).to_be_visible()
        expect(page.get_by_role("link", name="Sweep the floor")).to_have_count(0)
        expect(page.get_by_label("Find a task")).to_have_value("door")
