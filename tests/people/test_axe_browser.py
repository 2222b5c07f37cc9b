"""axe finds nothing serious or critical on the pages of people, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from pipelines.models import Membership, User
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.wide, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def grave(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{page.url} {each['id']}: {each['nodes'][0]['html']}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave_on_the_pages_of_people(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, theme: str
) -> None:
    member = Membership.objects.get(user=world.operator)
    User.objects.filter(pk=world.admin.pk).update(theme=theme)
    context = new_context(color_scheme=theme)
    page = context.new_page()
    page.goto("/sign-in/")
    found = grave(page)
    sign_in(context, world.admin)
    for address in (
        at(world, "project-settings"),
        at(world, "member-change", member.pk),
        at(world, "project-audit"),
        "/account/",
        "/account/second-factor/",
        "/account/notifications/",
        "/notifications/",
    ):
        page.goto(address)
        found += grave(page)
    assert found == []
