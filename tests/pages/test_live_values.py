"""Whatever moves: the figures of all open pages become what the database has, without a reload."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from pipelines.models import User
from tests.factories import World
from tests.pages.live_values import Pages, line_of, live_values, move_at_random
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.moves, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]


def test_every_live_figure_is_that_of_the_database(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    chance = random.Random(3)
    version = line_of(world)
    tasks = [world.start(version) for _ in range(6)]
    context = new_context()
    sign_in(context, world.reviewer)
    pages = Pages(context, live_values(world, version, tasks[0]))
    for _turn in range(3):
        for _ in range(10):
            move_at_random(world, version, tasks, chance)
        some_page = next(iter(pages.pages.values()))
        until(lambda: not pages.differing(), lambda: str(pages.differing()), some_page)
