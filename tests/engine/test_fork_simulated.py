"""A fork from any moment of a random task goes the way that the simulation says for an empty past, and both readings of
the law decide each of its steps alike (law §12, §17)."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.core.fold import row_folded_from_events
from pipelines.errors import Conflict, Invalid
from pipelines.models import ENDED, Decision, Task
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.simulate.scenario import ScenarioScript
from pipelines.routing.simulate.state import SimulatedTask, start_task
from tests.engine.test_simulated import LINES, compare, do, leaves, steps_at, walked
from tests.factories import World
from tests.routing.interpreter import decide as second_reading
from tests.routing.test_interpreter_agrees import plain

pytestmark = [pytest.mark.django_db, pytest.mark.moves]

STEPS = 12
FORKS = 3
SOAK = [pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 60)]


@pytest.mark.smoke(2)
@pytest.mark.parametrize("seed", [0, 1, *SOAK])
@pytest.mark.parametrize("name", LINES)
def test_a_fork_goes_as_the_simulation_of_an_empty_past(world: World, name: str, seed: int) -> None:
    rng = random.Random(f"fork {name} {seed}")
    version, line = world.line(LINES[name]), read_line(LINES[name])
    old = world.start(version)
    go_on(world, rng, line, old, start_task(line, ScenarioScript("walk", "walk")))
    for _ in range(FORKS):
        old.refresh_from_db()
        before = (old.seq, sorted(token.version for token in old.tokens.all()))
        moment = engine.task_moment(old, rng.randint(1, old.seq))
        position = rng.choice(moment.positions)
        task = engine.fork(old.pk, user=world.operator, at=moment.number, position=position.token)
        old.refresh_from_db()
        assert (old.seq, sorted(token.version for token in old.tokens.all())) == (before[0] + 1, before[1])
        begun = replace(line, start=position.station)
        walk = replace(
            start_task(begun, ScenarioScript("fork", "fork")),
            context=moment.data["context"],
            variables=moment.data["variables"],
        )
        compare(task, walk)
        go_on(world, rng, line, task, walk)
        both_readings_agree(task, LINES[name])
        assert (
            row_folded_from_events(task.events.order_by("seq"))["visits"]
            == Task.objects.get(pk=task.pk).visits
        )


def go_on(world: World, rng: random.Random, line: ParsedLine, task: Task, walk: SimulatedTask) -> None:
    """Let anything happen to the task, and to the walk beside it."""
    for _ in range(STEPS):
        if walk.is_over:
            return
        first = {place.station: place for place in reversed(walk.positions) if place.is_active}
        position = rng.choice(list(first.values()))
        step = rng.choice(steps_at(rng, line, walk, position))
        after = walked(line, walk, step)
        token = next(
            place
            for place in leaves(task)
            if place.station == position.station and place.status not in ENDED and "join" not in place.wait
        )
        if after is None:
            with pytest.raises((Conflict, Invalid)):
                do(world, token, step)
        else:
            do(world, token, step)
        walk = after or walk
        compare(task, walk)


def both_readings_agree(task: Task, document: dict[str, Any]) -> None:
    """What was decided about the fork is what a reading decides that knows the law and none of our code."""
    for decision in Decision.objects.filter(task=task):
        said = json.loads(json.dumps(decision.situation, default=str))
        assert plain(second_reading(document, said)) == plain(decision.answer), decision.cause
