"""Every pair of the table that is not impossible, once each, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.stateful import clock
from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.people import Cast
from tests.engine.stateful.routes import ROUTES
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.table import TABLE
from tests.engine.stateful.walk import Walk
from tests.factories import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def walk(world: World) -> Iterator[Walk]:
    with clock.installed():
        scene = Scene(world, Cast(world))
        yield Walk(scene)


@pytest.mark.parametrize("state", list(ROUTES))
def test_every_command_does_what_the_table_says(walk: Walk, state: str) -> None:
    refused = [key for key in COMMANDS if TABLE[key][state].verdict == "refused"]
    moving = [key for key in COMMANDS if TABLE[key][state].verdict == "moves"]
    token = ROUTES[state](walk)
    for key in COMMANDS:
        if TABLE[key][state].verdict == "impossible":
            assert not walk.possible(key, token)
    for key in refused:
        walk.do(key, token)
        assert walk.model[token] == state
    for key in moving:
        if walk.model[token] != state:
            token = again(walk, state)
        walk.do(key, token)


def again(walk: Walk, state: str) -> int:
    """Another task in this state, by the same way."""
    walk.begin_again()
    walk.watched = walk.migrates = False
    token = ROUTES[state](walk)
    walk.watched = True
    return token
