"""Races of a move by hand against whatever else moves the task: exactly one wins, the other is told (law §17)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import Job, LineVersion, Task, User
from tests.engine.test_races import at_once
from tests.engine.test_races_of_waiting import MANY, cancelling, come, named
from tests.factories import World, document, make_world, station

pytestmark = [pytest.mark.django_db(transaction=True)]

Race = Callable[[World, LineVersion], Task]
FEW = 3
"""Rounds of each race in an ordinary run; the soak has MANY."""
SIGN = {"key": "sign", "name": "Sign", "mode": "manual", "due": {"after": "1h", "then": "reject"}}


@pytest.fixture
def world(transactional_db: None) -> World:
    return make_world()


def line(world: World) -> LineVersion:
    """build → (sign) → rest (until a time) → ship."""
    stations = [
        station("build", {"id": "signed", "to": "rest", "gates": ["sign"]}),
        station("rest", kind="wait", work={"for": "1h"}),
        "ship",
    ]
    return world.line(document(stations, "moving", gates=[SIGN]))


def moving(world: World, task: Task, to: str = "ship", by: User | None = None) -> Callable[[], Any]:
    """A move of what stands there now."""
    token = world.token(task)
    user = by or world.operator
    return partial(
        engine.move_or_retry_by_hand,
        token.pk,
        user=user,
        token_version=token.version,
        to=to,
        reason="Go on.",
    )


def one_move(task: Task, moved: Any, rival: bool) -> Task:
    """Exactly one of the two counts, and the mover is told if it is not the move. `rival`: the other counted."""
    assert isinstance(moved, Conflict) == rival, moved
    hand = [event for event in task.events.filter(kind="token.moved") if event.data.get("by") == "hand"]
    assert len(hand) == (not rival)
    return task


def signing(world: World, version: LineVersion) -> Task:
    task = world.start(version)
    world.report(task)
    assert world.status(task) == "awaiting_review"
    return task


def against_a_report(world: World, version: LineVersion, to: str = "ship") -> Task:
    task = world.start(version)
    reported = partial(engine.report, [world.report_of(world.started(task))])
    (answer,), moved = at_once([reported, moving(world, task, to)])
    assert answer.status in ("accepted", "conflict", "ignored")
    accepted = answer.status == "accepted"
    assert isinstance(moved, Conflict) == accepted
    assert world.status(task) == ("awaiting_review" if accepted or to == engine.SUCCESS else "queued")
    return task


def a_skip_against_a_report(world: World, version: LineVersion) -> Task:
    """Both are an outcome of the same run: one of them is recorded."""
    task = against_a_report(world, version, engine.SUCCESS)
    assert task.jobs.filter(state=Job.State.DONE).count() == 1
    return task


def against_a_claim(world: World, version: LineVersion) -> Task:
    """What is taken before the move is stopped by it, or the move is told; what comes after it finds nothing to do."""
    task = world.start(version)
    job = world.job(task)
    _started, moved = at_once(
        [partial(engine.start_claimed_job_or_none, job.pk, world.claim()), moving(world, task)]
    )
    if isinstance(moved, Conflict):
        assert world.at(task) == ["build"]
        assert world.started(task).state == Job.State.RUNNING
    else:
        job.refresh_from_db()
        assert (world.at(task), job.state, job.result) == (["ship"], Job.State.DONE, "cancelled")
    return task


def against_a_vote(world: World, version: LineVersion) -> Task:
    task = signing(world, version)
    visit = world.visit(task)
    vote = partial(world.vote, task, "approve", by=world.reviewer, visit=visit)
    voted, moved = at_once([vote, moving(world, task)])
    visit.refresh_from_db()
    one_move(task, moved, rival=not isinstance(voted, Conflict))
    assert (visit.state, world.at(task)) in [("decided", ["rest"]), ("closed", ["ship"])]
    return task


def against_the_time_of_a_gate(world: World, version: LineVersion) -> Task:
    task = signing(world, version)
    due = come(task, "gate")
    fired, moved = at_once([partial(engine.fire_due_time_and_return_result, due.pk), moving(world, task)])
    one_move(task, moved, rival=fired == "fired")
    assert world.status(task) == ("failed" if fired == "fired" else "queued")
    return task


def against_a_time(world: World, version: LineVersion) -> Task:
    task = signing(world, version)
    world.vote(task, "approve", by=world.reviewer)
    assert world.at(task) == ["rest"]
    due = come(task, "wait")
    fired, moved = at_once(
        [partial(engine.fire_due_time_and_return_result, due.pk), moving(world, task, "build")]
    )
    one_move(task, moved, rival=fired == "fired")
    assert world.at(task) == (["ship"] if fired == "fired" else ["build"])
    return task


def against_a_move(world: World, version: LineVersion) -> Task:
    """Of two people who look at the same page, one moves it."""
    task = signing(world, version)
    acts = [moving(world, task, "ship"), moving(world, task, "", world.admin)]
    results = at_once(acts)
    assert sum(isinstance(result, Conflict) for result in results) == 1
    assert world.at(task) == (["build"] if isinstance(results[0], Conflict) else ["ship"])
    return task


def against_cancel(world: World, version: LineVersion) -> Task:
    """Cancelling asks for no version: it ends the task wherever the move left it."""
    task = signing(world, version)
    at_once([cancelling(task), moving(world, task)])
    assert (world.status(task), world.at(task)) == ("cancelled", [])
    return task


RACES: tuple[Race, ...] = (
    against_a_report,
    a_skip_against_a_report,
    against_a_claim,
    against_a_vote,
    against_the_time_of_a_gate,
    against_a_time,
    against_a_move,
    against_cancel,
)


def run(world: World, races: tuple[Race, ...], times: int) -> None:
    version = line(world)
    world.operator, world.admin, world.reviewer  # noqa: B018  # made once, before threads ask for them
    for race in races:
        with named(race):
            tasks = [race(world, version).pk for _ in range(times)]
            assert find_violations(tasks) == []


def test_one_of_two_counts(world: World) -> None:
    run(world, RACES, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("race", RACES, ids=lambda race: str(race.__name__))
def test_one_of_two_counts_many_times(world: World, race: Race) -> None:
    run(world, (race,), MANY)
