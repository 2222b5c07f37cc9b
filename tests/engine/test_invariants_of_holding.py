"""What holds a task, what is handed over and who may begin: each violation is planted, and the check names it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.engine.invariants import (
    CHECKS,
    agents,
    deadlocks,
    escalations,
    find_violations,
    handoffs,
    immutability,
    positions,
    replay,
)
from pipelines.engine.invariants import timers as times
from pipelines.models import Agent, Deadlock, Dependency, Due, Escalation, Handoff, Incident, Task
from pipelines.ports.observers import Invariant
from tests.engine.breaks import due, sql
from tests.engine.test_agents import agent, planned
from tests.engine.test_agents import line as with_an_agent
from tests.engine.test_deadlocks import late
from tests.engine.test_deadlocks import line as that_expects
from tests.engine.test_handoffs import started as handing_over
from tests.engine.test_invariants_of_waiting import BREAKS
from tests.factories import World, make_world
from tests.routing.test_preconditions import HANDOFF

pytestmark = [pytest.mark.django_db, pytest.mark.broken]

HELP = {"trigger": "help", "role": "Lead", "sla": "1h", "on_breach": ["block", "create_incident"]}


def come(task: Task, kind: str) -> None:
    """Its due time of that kind has come."""
    past = timezone.now() - timedelta(seconds=1)
    Due.objects.filter(task=task, kind=kind).update(due_at=past)
    Escalation.objects.filter(task=task).update(due_at=past)
    engine.fire_due_time_and_return_result(Due.objects.get(task=task, kind=kind).pk)


def blocked(world: World) -> Task:
    """Nobody answered in time, and all its work is held."""
    task = world.start(world.line(stations=["build", "ship"], escalations=[HELP]))
    engine.escalate(task.pk, user=world.operator, trigger="help", reason="Look.")
    come(task, "escalation")
    assert world.status(task) == "held"
    return task


def missing(world: World) -> Task:
    """Goes forward as soon as what is escalated is resolved."""
    task = world.start(world.line(stations=["build", "ship"]))
    engine.escalate(task.pk, user=world.operator, trigger="help", reason="Look.")
    world.report(task)
    assert world.token(task).wait["missing"] == ["no_open_escalation"]
    return task


def handed(world: World) -> Task:
    task = handing_over(world)
    world.report(task, {"result": "success", "handoff": HANDOFF})
    return task


def works_while_blocked(world: World) -> None:
    sql("UPDATE pipelines_token SET status = 'queued', wait = '{}' WHERE task_id = %s", blocked(world).pk)


def no_incident(world: World) -> None:
    blocked(world)
    Incident.objects.all().delete()


def review_is_over(world: World) -> None:
    task = due(world, "escalate")
    come(task, "gate")
    sql("UPDATE pipelines_gatevisit SET state = 'closed', decided_at = now() WHERE task_id = %s", task.pk)


def held_for_what_is_resolved(world: World) -> None:
    task = missing(world)
    sql("UPDATE pipelines_escalation SET state = 'resolved', how = 'go_on', resolved_at = now()")
    sql("UPDATE pipelines_task SET escalations = 0 WHERE id = %s", task.pk)


def waits_for_another(world: World) -> None:
    sql(
        """UPDATE pipelines_token SET wait = jsonb_set(wait, '{missing}', '["handoff"]') WHERE task_id = %s""",
        missing(world).pk,
    )


def nobody_says_that_it_is_free(world: World) -> None:
    planned(world, with_an_agent(world))
    agent(world)


def began_while_suspended(world: World) -> None:
    task = world.start(that_expects(world))
    world.started(task)
    since = timezone.now() - timedelta(hours=1)
    agent(world, "builder", suspended_at=since, suspended_why="No.")


def began_during_a_deadlock(world: World) -> None:
    world.started(world.start(that_expects(world)))
    late(world)
    Deadlock.objects.update(found_at=timezone.now() - timedelta(hours=1))


def suspended_in_silence(world: World) -> None:
    one = agent(world)
    engine.suspend_agent(one.pk, actor=engine.ENGINE, reason="No.")
    Agent.objects.update(suspended_at=None, suspended_why="")


def holds_nothing(world: World) -> None:
    task, _found = late(world)
    sql("UPDATE pipelines_token SET wait = '{}' WHERE task_id = %s", task.pk)


def nobody_says_that_it_is_completed(world: World) -> None:
    version = world.line(stations=["build"])
    first = world.start(version)
    world.start(version, depends_on=[first.name])
    world.report(first)
    assert Due.objects.all().delete()[0]


def nobody_looks_at_the_time(world: World) -> None:
    world.started(world.start(that_expects(world)))
    assert Due.objects.all().delete()[0]


def told_of_a_handoff_that_is_gone(world: World) -> None:
    handed(world)
    Handoff.objects.all().delete()


def handed_over_without_a_move(world: World) -> None:
    task = handed(world)
    Handoff.objects.update(job=world.job(task))


def went_forward_with_a_faulty_one(world: World) -> None:
    handed(world)
    Handoff.objects.update(faults=["handoff.evidence is missing"])


def leads_to_another_task(table: str, column: str, of: str) -> Callable[[World], None]:
    """Plants a key that leads across, in every row."""

    def plant(world: World) -> None:
        task = missing(world)
        handed(world)
        for _ in range(2):
            due(world, "escalate")
        other = f"SELECT id FROM pipelines_{of} WHERE task_id <> pipelines_{table}.task_id LIMIT 1"
        sql(f"UPDATE pipelines_{table} SET {column} = ({other}) WHERE task_id >= %s", task.pk)

    plant.__name__ = f"{table}_{column}"
    return plant


def depends_on_a_foreign_task(world: World) -> None:
    other = make_world()
    one, far = (each.start(each.line(stations=["build"])) for each in (world, other))
    Dependency.objects.create(task=one, on=far, made_at=timezone.now())


def party_to_a_foreign_deadlock(world: World) -> None:
    other = make_world()
    _task, found = late(world)
    found.tasks.add(other.start(other.line(stations=["build"])))


PLANTED: tuple[tuple[Invariant, Callable[[World], None], str], ...] = (
    (escalations.work_while_blocked_violations, works_while_blocked, "blocks it"),
    (escalations.escalation_consistency_violations, no_incident, "no incident is kept"),
    (escalations.escalation_consistency_violations, review_is_over, "although its review is over"),
    (escalations.hold_without_cause_violations, held_for_what_is_resolved, "and none is open"),
    (replay.wait_decision_violations, waits_for_another, "waits for missing"),
    (agents.unwoken_agent_wait_violations, nobody_says_that_it_is_free, "which is free"),
    (agents.idle_agent_violations, began_while_suspended, "while builder was suspended"),
    (agents.idle_agent_violations, began_during_a_deadlock, "during a deadlock of builder"),
    (agents.suspension_audit_violations, suspended_in_silence, "was suspended last"),
    (deadlocks.deadlock_consistency_violations, holds_nothing, "holds nothing"),
    (
        deadlocks.endless_dependency_wait_violations,
        nobody_says_that_it_is_completed,
        "tasks that are completed",
    ),
    (times.unnoticed_late_work_violations, nobody_looks_at_the_time, "nothing would tell"),
    (handoffs.handoff_event_violations, told_of_a_handoff_that_is_gone, "is not kept"),
    (handoffs.handoff_event_violations, handed_over_without_a_move, "nothing moved with it"),
    (handoffs.handoff_soundness_violations, went_forward_with_a_faulty_one, "went forward"),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("escalation", "token_id", "token"),
        "escalation at",
    ),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("escalation", "visit_id", "gatevisit"),
        "review of",
    ),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("handoff", "job_id", "job"),
        "of the job",
    ),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("handoff", "to_id", "job"),
        "to the job",
    ),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("due", "token_id", "token"),
        "time of the token",
    ),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("due", "job_id", "job"),
        "time of the job",
    ),
    (
        immutability.cross_project_key_violations,
        leads_to_another_task("due", "visit_id", "gatevisit"),
        "of the visit",
    ),
    (immutability.cross_project_key_violations, depends_on_a_foreign_task, "depends on a task"),
    (immutability.cross_project_key_violations, party_to_a_foreign_deadlock, "party to a deadlock"),
)


@pytest.mark.smoke(8)
@pytest.mark.parametrize(("seen_by", "plant", "says"), PLANTED, ids=[each[1].__name__ for each in PLANTED])
def test_what_is_planted_is_named(
    world: World, seen_by: Invariant, plant: Callable[[World], None], says: str
) -> None:
    plant(world)
    assert any(says in violation.message for violation in seen_by(None))


def test_every_check_of_what_waits_is_broken_by_some_test() -> None:
    broken = {each for each, _ in BREAKS} | {each[0] for each in PLANTED}
    # Those of positions, of the record and of replaying are broken in test_invariants.
    elsewhere = {positions.__name__, immutability.__name__, replay.__name__}
    mine = {each.__module__ for each in broken} - elsewhere
    assert {each for each in CHECKS if each.__module__ in mine} <= broken


@pytest.mark.parametrize("made", [blocked, missing, handed], ids=lambda made: str(made.__name__))
def test_nothing_is_named_where_nothing_was_planted(world: World, made: Callable[[World], Task]) -> None:
    made(world)
    assert find_violations() == []
