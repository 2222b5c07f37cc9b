"""What joins, budgets, evaluations, escalations, deadlocks, agents and due times must keep: each check sees what is
broken here on purpose, and it is that very check that sees it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.engine import invariants
from pipelines.engine.invariants import agents, budgets, deadlocks, escalations, joins, positions, questions
from pipelines.engine.invariants import timers as times
from pipelines.models import Deadlock, Due, Escalation, Task
from pipelines.ports.observers import Invariant
from pipelines.work.scheduler import timers
from tests.engine.breaks import due, evaluated, i10_more_than_a_named_budget, sql
from tests.engine.breaks import i18_more_at_once_than_the_agent_takes as more_than_it_takes
from tests.engine.test_deadlocks import late
from tests.engine.test_joins import FAILED, begun, gate5
from tests.factories import World, station

pytestmark = [pytest.mark.django_db, pytest.mark.broken]


def joined(world: World) -> Task:
    task = begun(world, gate5(world))
    for key in ("qa", "security"):
        world.report(task, station=key)
    return task


def merged_what_was_not_there(world: World) -> None:
    sql(
        "UPDATE pipelines_event SET data = jsonb_set(data, '{merged}', '[0]') WHERE task_id = %s"
        " AND kind = 'token.joined'",
        joined(world).pk,
    )


def counted_a_failure_as_a_pass(world: World) -> None:
    task = begun(world, gate5(world, aggregation="any-pass"))
    world.report(task, FAILED, station="qa")
    world.report(task, station="security")
    sql(
        "UPDATE pipelines_event SET data = jsonb_set(data, '{join,branches,qa}', '\"pass\"') WHERE task_id = %s"
        " AND kind = 'token.joined'",
        task.pk,
    )


def came_to_what_its_branches_do_not(world: World) -> None:
    sql(
        "UPDATE pipelines_event SET data = jsonb_set(data, '{join,verdict}', '\"fail\"') WHERE task_id = %s"
        " AND kind = 'token.joined'",
        joined(world).pk,
    )


def arrived_and_waits_no_more(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    sql("UPDATE pipelines_token SET wait = '{}' WHERE task_id = %s AND station = 'release'", task.pk)


def waits_for_a_branch_that_is_gone(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    sql(
        "UPDATE pipelines_token SET status = 'failed', ended_at = now() WHERE task_id = %s"
        " AND station = 'security'",
        task.pk,
    )


def told_another_answer_than_its_job(world: World) -> None:
    task = evaluated(world)
    job = world.job(task)
    world.report(task, {"result": "success", "eval": "yes"})
    sql("""UPDATE pipelines_job SET outcome = '{"result": "success", "eval": "no"}' WHERE id = %s""", job.pk)


def asks_what_nobody_waits_for(world: World) -> None:
    sql("UPDATE pipelines_token SET wait = wait - 'evaluation' WHERE task_id = %s", evaluated(world).pk)


def told_of_an_answer_that_was_not_given(world: World) -> None:
    task = evaluated(world)
    world.report(task, {"result": "success", "eval": "yes"})
    sql("DELETE FROM pipelines_event WHERE task_id = %s AND kind = 'evaluation.answered'", task.pk)


def waits_for_no_time(world: World) -> None:
    rest = station("rest", {"id": "on", "to": "completed"}, kind="wait", work={"for": "1h"})
    world.start(world.line(stations=[rest]))
    assert Due.objects.all().delete()[0]


def timed(world: World) -> Escalation:
    """Holds a task, and is to be answered in an hour."""
    version = world.line(
        stations=[station("build", {"id": "on", "when": {"result": "success"}, "to": "ship"}), "ship"],
        policy={"on_failure": "escalate"},
        escalations=[
            {"trigger": "on_failure", "role": "Lead", "sla": "1h", "on_breach": ["create_incident"]}
        ],
    )
    task = world.start(version)
    world.report(task, FAILED)
    return Escalation.objects.get(task=task)


def nothing_tells_of_a_breach(world: World) -> None:
    Due.objects.filter(task=timed(world).task).delete()


def breached_in_silence(world: World) -> None:
    found = timed(world)
    sql("UPDATE pipelines_escalation SET breached_at = due_at WHERE id = %s", found.pk)


def breached_too_early(world: World) -> None:
    found = timed(world)
    Escalation.objects.update(breached_at=found.opened_at)


def goes_on_being_due_when_it_is_resolved(world: World) -> None:
    found = timed(world)
    engine.resolve_escalation(found.pk, user=world.admin, word="retry", reason="Again.")
    now = timezone.now()
    Due.objects.create(
        task=found.task, kind="escalation", key=str(found.pk), set_at=now, due_at=now + timedelta(hours=1)
    )


def went_forward_meanwhile(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Too big.")
    sql("UPDATE pipelines_task SET escalations = 0 WHERE id = %s", task.pk)
    world.report(task)


def resolved_behind_its_parties(world: World) -> None:
    late(world)
    Deadlock.objects.update(state="resolved", how="context", resolved_at=timezone.now())


def found_in_silence(world: World) -> None:
    task, _found = late(world)
    sql("DELETE FROM pipelines_event WHERE task_id = %s AND kind = 'deadlock.found'", task.pk)


def open_after_its_party_has_ended(world: World) -> None:
    task, found = late(world)
    engine.resolve_deadlock(found.pk, user=world.admin, word="cancel", reason="No.")
    sql(
        "UPDATE pipelines_deadlock SET state = 'open', how = '', resolved_at = NULL WHERE task_id = %s",
        task.pk,
    )


def gate_without_its_time(world: World) -> None:
    due(world)
    assert Due.objects.all().delete()[0]


def time_of_a_gate_that_is_over(world: World) -> None:
    task = due(world)
    visit = world.visit(task)
    world.vote(task)
    now = timezone.now()
    Due.objects.create(task=task, kind="gate", key=str(visit.pk), visit=visit, set_at=now, due_at=now)


BREAKS: tuple[tuple[Invariant, Callable[[World], None]], ...] = (
    (joins.join_decision_violations, merged_what_was_not_there),
    (joins.join_decision_violations, counted_a_failure_as_a_pass),
    (joins.join_decision_violations, came_to_what_its_branches_do_not),
    (joins.join_decision_violations, arrived_and_waits_no_more),
    (joins.unmerged_join_violations, waits_for_a_branch_that_is_gone),
    (budgets.named_budget_violations, i10_more_than_a_named_budget),
    (questions.ungiven_answer_violations, told_another_answer_than_its_job),
    (questions.ungiven_answer_violations, asks_what_nobody_waits_for),
    (questions.ungiven_answer_violations, told_of_an_answer_that_was_not_given),
    (positions.unwoken_position_violations, waits_for_no_time),
    (escalations.hold_without_cause_violations, nothing_tells_of_a_breach),
    (escalations.hold_without_cause_violations, goes_on_being_due_when_it_is_resolved),
    (escalations.hold_without_cause_violations, resolved_behind_its_parties),
    (escalations.escalation_consistency_violations, breached_in_silence),
    (escalations.escalation_consistency_violations, breached_too_early),
    (escalations.forward_move_while_escalated_violations, went_forward_meanwhile),
    (deadlocks.deadlock_consistency_violations, resolved_behind_its_parties),
    (deadlocks.deadlock_consistency_violations, found_in_silence),
    (deadlocks.deadlock_consistency_violations, open_after_its_party_has_ended),
    (agents.agent_capacity_violations, more_than_it_takes),
    (times.gate_without_due_time_violations, gate_without_its_time),
    (times.stale_due_time_violations, time_of_a_gate_that_is_over),
)


@pytest.mark.smoke(8)
@pytest.mark.parametrize(("check", "breaks"), BREAKS, ids=[breaks.__name__ for _, breaks in BREAKS])
def test_the_check_sees_what_was_broken(
    world: World, check: Invariant, breaks: Callable[[World], None]
) -> None:
    breaks(world)
    assert list(check(None))


def test_a_party_is_held_by_a_deadlock_that_is_over_until_its_due_time(world: World) -> None:
    """The other party has ended; each has a lock of its own."""
    version = world.line(stations=["build"])
    one = world.start(version)
    other = world.start(version, depends_on=[one.name])
    world.started(one)
    engine.wait_for_tasks(one.pk, [other.name], actor=engine.ENGINE)
    found = Deadlock.objects.get()
    engine.cancel(other.pk, actor=engine.ENGINE)
    found.refresh_from_db()
    assert (found.state, world.token(one).wait["paused_by"]) == ("resolved", str(found.pk))
    assert invariants.find_violations() == []
    timers.run_due_timers_and_triggers()
    assert world.status(one) == "queued"
    assert invariants.find_violations() == []
