"""The table of `page_checks` over the twenty main pages, with a mouse at 1440 px and with a finger at 390."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from pipelines.models import User
from proof.page_pictures import QUIET, addresses, seeded
from tests.browser.page_checks import SCREENS, unmet_checks
from tests.factories import World

pytestmark = [
    pytest.mark.browser, pytest.mark.broken, pytest.mark.wide, pytest.mark.django_db(transaction=True),
]  # fmt: skip


def test_the_main_pages_meet_the_table(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
) -> None:
    pages = list(addresses(world, seeded(world)))
    wrong = {}
    for width, options in SCREENS.items():
        context = new_context(**options)
        sign_in(context, world.admin)
        page = context.new_page()
        for name, address in pages:
            page.goto(address)
            page.wait_for_function(QUIET)
            if unmet := unmet_checks(page):
                wrong[width, name] = unmet
    assert wrong == {}
