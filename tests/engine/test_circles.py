"""Tasks that wait for each other through a question (law §8): what is held, and who opens the circle."""

from __future__ import annotations

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.models import Deadlock, Escalation, Task
from pipelines.work.scheduler import timers
from tests.engine.test_deadlocks import circle, resolve, wait_for
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def asking(world: World) -> tuple[Task, Task]:
    """The first has asked the second, which waits for it, something."""
    version = world.line(stations=["build"])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    meta = {"question": "Which colour?", "task": second.name}
    world.report(first, {"signals": [{"verdict": "hold", "meta": meta}], "result": "success"})
    timers.run_due_timers_and_triggers()
    return first, second


def test_E22_a_question_to_a_task_that_waits_closes_a_circle(world: World) -> None:
    first, second = asking(world)
    found = Deadlock.objects.get()
    assert (found.kind, set(found.tasks.all())) == ("circular_wait", {first, second})
    resolve(world, found, "context", reason="Blue.")
    job = world.job(first)
    assert (job.feedback, job.asked) == ("Blue.", "Which colour?")
    timers.run_due_timers_and_triggers()
    world.report(first)
    timers.run_due_timers_and_triggers()
    assert world.status(second) == "queued"


def test_who_answers_the_question_opens_the_circle(world: World) -> None:
    first, _second = asking(world)
    token = world.token(first)
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, text="Blue.")
    timers.run_due_timers_and_triggers()
    found = Deadlock.objects.get()
    assert (found.state, found.how, found.resolved_by) == ("resolved", "context", world.operator)
    world.report(first)
    assert world.status(first) == "completed"


@pytest.mark.wide
def test_the_other_branch_of_who_asked_goes_on_with_the_answer(world: World) -> None:
    fork = station("plan", {"id": "both", "to": ["ask", "work"]})
    ends = [station(key, {"id": f"{key}-end", "to": "completed"}) for key in ("ask", "work")]
    version = world.line(stations=[fork, *ends])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    world.report(first, station="plan")
    meta = {"question": "Which colour?", "task": second.name}
    world.report(first, {"signals": [{"verdict": "hold", "meta": meta}], "result": "success"}, station="ask")
    timers.run_due_timers_and_triggers()
    assert world.token(first, "work").status == "held"
    token = world.token(first, "ask")
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, text="Blue.")
    timers.run_due_timers_and_triggers()
    assert world.token(first, "work").status == "queued"


def in_circle_with_review(world: World) -> tuple[Task, Task]:
    """The first has asked the second, which waits for it; a review of its other branch is open."""
    fork = station("plan", {"id": "both", "to": ["ask", "work"]})
    stations = [
        fork,
        station("ask", {"id": "asked", "to": "completed"}),
        station("work", {"id": "worked", "to": "ship", "gates": ["sign"]}),
        station("ship", {"id": "shipped", "to": "completed"}),
    ]
    version = world.line(stations=stations, gates=[{"key": "sign", "name": "Sign", "mode": "manual"}])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    world.report(first, station="plan")
    world.report(first, station="work")
    meta = {"question": "Which colour?", "task": second.name}
    world.report(first, {"signals": [{"verdict": "hold", "meta": meta}], "result": "success"}, station="ask")
    timers.run_due_timers_and_triggers()
    return first, second


def test_E23_nothing_of_a_circle_begins_that_is_decided_later(world: World) -> None:
    first, _second = in_circle_with_review(world)
    found = Deadlock.objects.get()
    world.vote(first)
    token = world.token(first, "ship")
    assert (token.status, token.wait["paused_by"]) == ("held", str(found.pk))
    assert engine.start_claimed_job_or_none(world.job(first, "ship").pk, world.claim()) is None
    resolve(world, found, "context")
    assert world.token(first, "ship").status == "queued"
    assert find_violations() == []


def test_E23_nothing_of_a_circle_begins_that_a_person_held_before(world: World) -> None:
    fork = station("plan", {"id": "both", "to": ["ask", "work"]})
    ends = [station(key, {"id": f"{key}-end", "to": "completed"}) for key in ("ask", "work")]
    version = world.line(stations=[fork, *ends])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    world.report(first, station="plan")
    token = world.token(first, "work")
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    meta = {"question": "Which colour?", "task": second.name}
    world.report(first, {"signals": [{"verdict": "hold", "meta": meta}], "result": "success"}, station="ask")
    timers.run_due_timers_and_triggers()
    token = world.token(first, "work")
    engine.release(token.pk, user=world.operator, token_version=token.version)
    found, token = Deadlock.objects.get(), world.token(first, "work")
    assert (token.status, token.wait["paused_by"]) == ("held", str(found.pk))
    resolve(world, found, "context")
    assert world.token(first, "work").status == "queued"


def test_who_releases_a_task_of_a_circle_opens_it(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    wait_for(world, first, second)
    token = world.token(first)
    engine.release(token.pk, user=world.operator, token_version=token.version)
    found = Deadlock.objects.get()
    assert (found.state, found.how, found.resolved_by) == ("resolved", "context", world.operator)
    timers.run_due_timers_and_triggers()
    world.report(first)
    assert (world.at(first), world.status(first), world.status(second)) == (["ship"], "queued", "held")
    assert find_violations() == []


def test_a_circle_that_nobody_opened_is_told_again_after_its_escalation(world: World) -> None:
    first, _second, found = circle(world)
    resolve(world, found, "escalate")
    engine.resolve_escalation(
        Escalation.objects.get(task=first).pk, user=world.admin, word="go_on", reason="Go."
    )
    timers.run_due_timers_and_triggers()
    assert Deadlock.objects.filter(tasks=first, state="open").exists()
