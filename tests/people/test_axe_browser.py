"""axe finds nothing serious or critical on the pages of people, light and dark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from pipelines.models import Membership, User
from tests.axe import grave
from tests.factories import World
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.wide, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave_on_the_pages_of_people(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, theme: str
) -> None:
    member = Membership.objects.get(user=world.operator)
    User.objects.filter(pk=world.admin.pk).update(theme=theme)
    context = new_context(color_scheme=theme)
    page = context.new_page()
    page.goto("/sign-in/")
    found = [f"{page.url} {each}" for each in grave(page)]
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
        found += [f"{page.url} {each}" for each in grave(page)]
    assert found == []
