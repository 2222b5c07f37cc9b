"""The table of `page_checks` over the twenty main pages, with a mouse at 1440 px and with a finger at 390."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from pipelines.models import User
from proof.page_pictures import QUIET, addresses, seeded
from tests.browser.page_checks import unmet_checks
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE

pytestmark = [
    pytest.mark.browser, pytest.mark.broken, pytest.mark.wide, pytest.mark.django_db(transaction=True),
]  # fmt: skip
SMALL = "targets are 44 px high for a finger"
OPEN = {("390", name): SMALL for name in ("home", "graph", "task", "setup")}
"""{(width, page): the check that does not hold there yet}: only falls."""


def test_the_main_pages_meet_the_table(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
) -> None:
    pages = list(addresses(world, seeded(world)))
    wrong = {}
    for width, options in (
        ("1440", {"viewport": DESKTOP}),
        ("390", {"viewport": PHONE, "has_touch": True, "is_mobile": True}),
    ):
        context = new_context(**options)
        sign_in(context, world.admin)
        page = context.new_page()
        for name, address in pages:
            page.goto(address)
            page.wait_for_function(QUIET)
            unmet = [text for text in unmet_checks(page) if not text.startswith(OPEN.get((width, name), "-"))]
            if unmet:
                wrong[width, name] = unmet
    assert wrong == {}
