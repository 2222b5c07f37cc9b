"""Races where a line waits for branches, answers, times and people: one of two counts, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import Due, Escalation, GateVisit, Incident, LineVersion, Task
from proof.soak.lines import whole_law
from tests.engine.test_races import at_once
from tests.factories import World, make_world

pytestmark = [pytest.mark.django_db(transaction=True)]

FEW = 1
MANY = int(os.environ.get("GATELINE_SOAK_RACES", "200"))


@pytest.fixture
def world(transactional_db: None) -> World:
    world = make_world()
    world.able("model")
    return world


def asked(world: World, version: LineVersion) -> Task:
    """A model is asked whether the build is good."""
    task = world.start(version)
    world.report(task, station="first")
    world.report(task, station="build")
    assert world.status(task) == "evaluating"
    return task


def resting(world: World, version: LineVersion) -> Task:
    """The build was good the second time; it waits for a time."""
    task = asked(world, version)
    for said in ("no", "yes"):
        world.report(task, {"result": "success", "eval": said})
        if said == "no":
            world.report(task, station="build")
    assert world.at(task) == ["rest"]
    return task


def come(task: Task, kind: str) -> Due:
    """The due time of that kind, which has come."""
    past = timezone.now() - timedelta(seconds=1)
    assert Due.objects.filter(task=task, kind=kind).update(due_at=past) == 1
    GateVisit.objects.filter(task=task, due_at__isnull=False).update(due_at=past)
    Escalation.objects.filter(task=task, state="open").update(due_at=past)
    return Due.objects.get(task=task, kind=kind)


def forked(world: World, version: LineVersion) -> Task:
    task = resting(world, version)
    engine.fire_due_time_and_return_result(come(task, "wait").pk)
    assert world.at(task) == ["left", "right"]
    return task


def merged(world: World, version: LineVersion) -> Task:
    task = forked(world, version)
    for key in ("left", "right"):
        world.report(task, station=key)
    assert world.at(task) == ["merge"]
    return task


def signing(world: World, version: LineVersion) -> Task:
    """People are asked at the gate behind the join."""
    task = merged(world, version)
    world.report(task)
    assert world.status(task) == "awaiting_review"
    return task


def reporting(world: World, task: Task, station: str) -> Callable[[], str]:
    report = world.report_of(world.started(task, station))
    return lambda: engine.report([report])[0].status


# Each race gets one task there, lets both happen at once, and says what must have come of it.


def branches_deliver(world: World, version: LineVersion) -> None:
    task = forked(world, version)
    assert at_once([reporting(world, task, key) for key in ("left", "right")]) == ["accepted"] * 2
    assert (world.kinds(task).count("token.joined"), world.at(task)) == (1, ["merge"])


def last_branch_against_cancel(world: World, version: LineVersion) -> None:
    task = forked(world, version)
    world.report(task, station="left")
    reported, _ = at_once([reporting(world, task, "right"), cancelling(task)])
    joins = world.kinds(task).count("token.joined")
    assert (reported, joins) in {("accepted", 1), ("conflict", 0)}
    assert (world.status(task), world.at(task)) == ("cancelled", [])


def cancelling(task: Task) -> Callable[[], Any]:
    return partial(engine.cancel, task.pk, actor=engine.ENGINE)


def a_time_comes_for_two_workers(world: World, version: LineVersion) -> None:
    task = resting(world, version)
    due = come(task, "wait").pk
    assert sorted(at_once([partial(engine.fire_due_time_and_return_result, due)] * 2)) == ["fired", "gone"]
    assert world.at(task) == ["left", "right"]


def a_time_comes_against_cancel(world: World, version: LineVersion) -> None:
    task = resting(world, version)
    at_once([partial(engine.fire_due_time_and_return_result, come(task, "wait").pk), cancelling(task)])
    assert (world.status(task), Due.objects.filter(task=task).count()) == ("cancelled", 0)


def vote_against_its_time(world: World, version: LineVersion) -> None:
    task = signing(world, version)
    due, visit = come(task, "gate"), world.visit(task)
    vote = partial(world.vote, task, by=world.reviewer, visit=visit)
    voted, fired = at_once([vote, partial(engine.fire_due_time_and_return_result, due.pk)])
    visit.refresh_from_db()
    late = isinstance(voted, Conflict)
    assert (fired, visit.word) == (("fired", "reject") if late else ("gone", "approve"))
    assert task.decisions.filter(cause=f"gate:{visit.pk}").count() == 1


def resolved_against_its_breach(world: World, version: LineVersion) -> None:
    task = merged(world, version)
    world.started(task)
    raised = engine.escalate(task.pk, user=world.operator, trigger="help", reason="Look.")
    due = come(task, "escalation")
    resolve = partial(engine.resolve_escalation, raised.pk, user=world.admin, word="go_on", reason="Done.")
    _, fired = at_once([resolve, partial(engine.fire_due_time_and_return_result, due.pk)])
    breaches = int(fired == "fired")
    kinds = world.kinds(task)
    told = [kinds.count(f"escalation.{word}") for word in ("opened", "breached", "resolved")]
    assert told == [1, breaches, 1]
    assert Incident.objects.filter(task=task).count() == breaches
    assert world.status(task) == ("queued" if breaches else "running")


def answered_against_the_report(world: World, version: LineVersion) -> None:
    task = asked(world, version)
    report = world.report_of(world.started(task), {"result": "success", "eval": "no"})
    token = world.token(task)
    answer = partial(
        engine.answer_blocked_token,
        token.pk,
        user=world.operator,
        token_version=token.version,
        fact="yes",
        text="I looked.",
    )
    answered, (reported,) = at_once([answer, partial(engine.report, [report])])
    late = isinstance(answered, Conflict)
    assert (reported.status, world.at(task)) == (("accepted", ["build"]) if late else ("conflict", ["rest"]))
    assert world.kinds(task).count("evaluation.answered") == 1


def report_against_escalation(world: World, version: LineVersion) -> None:
    """Whichever is first: nothing goes forward once it is escalated."""
    task = merged(world, version)
    report = reporting(world, task, "merge")
    raise_it = partial(engine.escalate, task.pk, user=world.operator, trigger="help", reason="Look.")
    reported, _ = at_once([report, raise_it])
    assert (reported, world.at(task)) == ("accepted", ["merge"])
    found = Escalation.objects.get(task=task)
    if world.status(task) == "awaiting_review":
        world.vote(task)
    assert (world.status(task), world.token(task).wait["missing"]) == ("held", ["no_open_escalation"])
    engine.resolve_escalation(found.pk, user=world.admin, word="go_on", reason="Done.")
    assert world.at(task) in (["merge"], ["last"])


def answer(world: World, task: Task, fact: str) -> Callable[[], Any]:
    token = world.token(task)
    said: dict[str, Any] = {"token_version": token.version, "fact": fact, "text": "I looked."}
    return partial(engine.answer_blocked_token, token.pk, user=world.operator, **said)


def two_answers(world: World, version: LineVersion) -> None:
    task = asked(world, version)
    results = at_once([answer(world, task, fact) for fact in ("yes", "no")])
    assert sum(isinstance(each, Conflict) for each in results) == 1
    assert world.kinds(task).count("evaluation.answered") == 1
    assert world.at(task) == (["build"] if isinstance(results[0], Conflict) else ["rest"])


def answered_against_cancel(world: World, version: LineVersion) -> None:
    task = asked(world, version)
    at_once([answer(world, task, "yes"), cancelling(task)])
    assert (world.status(task), world.at(task)) == ("cancelled", [])


def a_gates_time_against_cancel(world: World, version: LineVersion) -> None:
    task = signing(world, version)
    due, visit = come(task, "gate"), world.visit(task)
    at_once([partial(engine.fire_due_time_and_return_result, due.pk), cancelling(task)])
    visit.refresh_from_db()
    assert (visit.state, visit.word) in {("decided", "reject"), ("closed", "")}
    assert world.status(task) in ("failed", "cancelled")


def a_breach_against_cancel(world: World, version: LineVersion) -> None:
    task = asked(world, version)
    raised = engine.escalate(task.pk, user=world.operator, trigger="help", reason="Look.")
    _, fired = at_once(
        [cancelling(task), partial(engine.fire_due_time_and_return_result, come(task, "escalation").pk)]
    )
    raised.refresh_from_db()
    assert (raised.state, raised.how, world.status(task)) == ("resolved", "ended", "cancelled")
    assert Incident.objects.filter(task=task).count() == (fired == "fired")


def voted_against_a_breach(world: World, version: LineVersion) -> None:
    """Whichever is first: no work begins that the breach blocks."""
    task = signing(world, version)
    visit = world.visit(task)
    raised = engine.escalate(task.pk, user=world.operator, trigger="help", reason="Look.")
    back = partial(world.vote, task, "send_back", by=world.reviewer, reason="Once more.", visit=visit)
    at_once([back, partial(engine.fire_due_time_and_return_result, come(task, "escalation").pk)])
    assert (world.at(task), world.status(task)) == (["merge"], "held")
    engine.resolve_escalation(raised.pk, user=world.admin, word="go_on", reason="Done.")
    assert world.status(task) == "queued"


RACES: tuple[Callable[[World, LineVersion], None], ...] = (
    branches_deliver,
    last_branch_against_cancel,
    a_time_comes_for_two_workers,
    a_time_comes_against_cancel,
    vote_against_its_time,
    resolved_against_its_breach,
    answered_against_the_report,
    report_against_escalation,
    two_answers,
    answered_against_cancel,
    a_gates_time_against_cancel,
    a_breach_against_cancel,
    voted_against_a_breach,
)


@contextmanager
def named(race: Callable[..., Any]) -> Iterator[None]:
    """All in one test, so that the database is emptied once; which one it was is said."""
    try:
        yield
    except AssertionError as failed:
        failed.add_note(f"in the race {race.__name__}")
        raise


def run(world: World, races: tuple[Callable[[World, LineVersion], None], ...], times: int) -> None:
    version = world.line(whole_law())
    world.reviewer, world.admin, world.operator  # noqa: B018  # made once, before threads ask for them
    for race in races:
        with named(race):
            for _ in range(times):
                race(world, version)
    assert find_violations() == []


@pytest.mark.wide
def test_one_of_two_counts(world: World) -> None:
    run(world, RACES, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("race", RACES, ids=lambda race: str(race.__name__))
def test_one_of_two_counts_many_times(world: World, race: Callable[[World, LineVersion], None]) -> None:
    run(world, (race,), MANY)
