"""Pairs of the table that are not impossible, once each, in a fixed order: some of every command in a
quarter of the states in each run of the suite, all of them in the soak."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

import pytest
from django.db import connection, transaction

from tests.engine.stateful import clock
from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.people import Cast
from tests.engine.stateful.routes import ROUTES, WAYS, Route
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.table import TABLE
from tests.engine.stateful.walk import Walk
from tests.factories import World

CUT = ("migrate_cut", "cut_after_commit")
GROUPS = 4
ONE_IN = 27
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def walk(world: World) -> Iterator[Walk]:
    with clock.installed():
        scene = Scene(world, Cast(world))
        yield Walk(scene)


@pytest.mark.smoke(1)
@pytest.mark.parametrize("one_in", [ONE_IN, pytest.param(1, marks=pytest.mark.soak)], ids=["some", "all"])
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_command_does_what_the_table_says(walk: Walk, group: int, one_in: int) -> None:
    """Some states together: their lines are published once, and the database is emptied once."""
    for state in list(ROUTES)[group::GROUPS]:
        try:
            walk.migrates = True
            every_command(walk, state, one_in)
            walk.begin_again()
        except Exception as failed:
            failed.add_note(f"in the state {state}")
            raise


def every_command(walk: Walk, state: str, one_in: int) -> None:
    place = list(ROUTES).index(state)
    drawn = {key for number, key in enumerate(COMMANDS) if (number + place) % one_in == 0}
    verdict = {key: TABLE[key][state].verdict for key in COMMANDS}
    token = ROUTES[state](walk)
    for key in COMMANDS:
        if verdict[key] == "impossible":
            assert not walk.possible(key, token)
    here = [key for key in COMMANDS if key in drawn and (state, key) not in WAYS and key not in CUT]
    for key in here:
        if verdict[key] == "refused":
            walk.do(key, token)
            assert walk.model[token] == state
    for key in here:
        if verdict[key] == "moves":
            with taken_back(walk):
                walk.do(key, token)
    # What is possible only on another way; then those that die in the middle, and commit.
    for key in [key for wanted, key in WAYS if wanted == state and key in drawn]:
        walk.do(key, again(walk, WAYS[state, key]))
    for key in CUT:
        if key in drawn and verdict[key] == "moves":
            if key != CUT[0] or walk.model.get(token) != state:
                token = again(walk, ROUTES[state])
            walk.do(key, token)


@contextmanager
def taken_back(walk: Walk) -> Iterator[None]:
    """What moves is rolled back, so that a task has not to come all the way for each command; its constraints are
    checked as at a commit. (The machine commits everything.)"""
    kept = walk.sight, walk.model, copy(walk.scene.task_ids), copy(walk.scene.lost), copy(walk.scene.live)
    scene, companions = walk.scene, copy(walk.scene.companions)
    clocks = (scene.latest, scene.earliest, scene.now)
    with transaction.atomic():
        yield
        connection.check_constraints()
        transaction.set_rollback(True)
    walk.sight, walk.model, scene.task_ids, scene.lost, scene.live = kept
    scene.latest, scene.earliest, scene.now = clocks
    scene.companions = companions


def again(walk: Walk, route: Route) -> int:
    """Another task in this state."""
    walk.begin_again()
    walk.watched = walk.migrates = False
    token = route(walk)
    walk.watched = True
    return token
