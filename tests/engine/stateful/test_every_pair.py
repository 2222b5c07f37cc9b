"""Every pair of the table that is not impossible, once each, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

import pytest
from django.db import connection, transaction

from tests.engine.stateful import clock
from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.people import Cast
from tests.engine.stateful.routes import ROUTES
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.table import TABLE
from tests.engine.stateful.walk import Walk
from tests.factories import World

CUT = ("migrate_cut", "cut_after_commit")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def walk(world: World) -> Iterator[Walk]:
    with clock.installed():
        scene = Scene(world, Cast(world))
        yield Walk(scene)


@pytest.mark.parametrize("state", list(ROUTES))
def test_every_command_does_what_the_table_says(walk: Walk, state: str) -> None:
    refused = [key for key in COMMANDS if TABLE[key][state].verdict == "refused"]
    # Those that die in the middle come last, and commit.
    moving = [key for key in COMMANDS if TABLE[key][state].verdict == "moves"]
    moving.sort(key=lambda key: key in CUT)
    token = ROUTES[state](walk)
    for key in COMMANDS:
        if TABLE[key][state].verdict == "impossible":
            assert not walk.possible(key, token)
    for key in refused:
        walk.do(key, token)
        assert walk.model[token] == state
    for key in moving:
        if key in CUT:
            if walk.model[token] != state:
                token = again(walk, state)
            walk.do(key, token)
        else:
            with taken_back(walk):
                walk.do(key, token)


@contextmanager
def taken_back(walk: Walk) -> Iterator[None]:
    """What moves is rolled back, so that a task has not to come all the way for each command; its constraints are
    checked as at a commit. (The machine commits everything.)"""
    kept = walk.sight, walk.model, copy(walk.scene.task_ids), copy(walk.scene.lost), copy(walk.scene.live)
    scene, clocks = walk.scene, (walk.scene.latest, walk.scene.earliest)
    with transaction.atomic():
        yield
        connection.check_constraints()
        transaction.set_rollback(True)
    walk.sight, walk.model, scene.task_ids, scene.lost, scene.live = kept
    scene.latest, scene.earliest = clocks


def again(walk: Walk, state: str) -> int:
    """Another task in this state, by the same way."""
    walk.begin_again()
    walk.watched = walk.migrates = False
    token = ROUTES[state](walk)
    walk.watched = True
    return token
