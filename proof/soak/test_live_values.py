"""No figure of an open page is older than 3 seconds without the dot of its page saying so."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from pipelines.models import User
from tests.factories import World
from tests.pages.live_values import Pages, line_of, live_values, move_at_random

pytestmark = [
    pytest.mark.soak,
    pytest.mark.browser,
    pytest.mark.moves,
    pytest.mark.django_db(transaction=True),
]
SignIn = Callable[[Page | BrowserContext, User], None]
TURNS = 60
MAX_SECONDS = 3.0


def test_no_figure_is_older_than_three_seconds_unless_the_dot_says_so(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    chance = random.Random(11)
    version = line_of(world)
    tasks = [world.start(version) for _ in range(12)]
    context = new_context()
    sign_in(context, world.reviewer)
    pages = Pages(context, live_values(world, version, tasks[0]))
    took, said, moves = [], 0, 0
    some_page = next(iter(pages.pages.values()))
    for _turn in range(TURNS):
        for _ in range(chance.randrange(1, 20)):
            move_at_random(world, version, tasks, chance)
            moves += 1
        began = time.monotonic()
        while differing := pages.differing():
            late = time.monotonic() - began
            if late > MAX_SECONDS:
                states = pages.states()
                silent = {name for name in differing if states[pages.values[name].address] == "live"}
                # Looked at once more: it may have come since
                assert not silent & set(pages.differing()), (late, {name: differing[name] for name in silent})
                said += 1
            some_page.wait_for_timeout(50)
        took.append(time.monotonic() - began)
    took.sort()
    print(
        f"{moves} moves in {TURNS} turns, {len(pages.values)} figures on {len(pages.pages)} pages: all were the "
        f"database's after {took[len(took) // 2]:.1f} s (median), {took[-1]:.1f} s at most; later than "
        f"{MAX_SECONDS:.0f} s {said} looks, at each of which the dot said so"
    )
