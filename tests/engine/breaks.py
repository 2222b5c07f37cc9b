"""What breaks an invariant, written into the database past every guard: one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.models import Agent, Due, GateVisit, Job, Lease, Task, Trigger
from tests.engine.test_words_stand import asked_then_right_moves, forked
from tests.factories import World, make_project, make_world, station

GATE = {"key": "review", "name": "Review", "mode": "manual"}
BEHIND = {"id": "on", "to": "ship", "gates": ["review"]}


@contextmanager
def unguarded() -> Iterator[None]:
    """Triggers and foreign keys look away."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET session_replication_role = replica")
        yield
        cursor.execute("SET session_replication_role = DEFAULT")


def sql(statement: str, *values: Any) -> None:
    with unguarded(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount != 0, "nothing was broken"


def plain(world: World) -> Task:
    task = world.start(world.line(stations=["build", "test", "ship"]))
    world.report(task, {"result": "success", "output": {"a": 1}})
    return task


def ended(world: World) -> Task:
    task = world.start(world.line(stations=["build"]))
    world.report(task)
    return task


def reviewed(world: World, word: str = "") -> Task:
    task = world.start(world.line(stations=[station("build", BEHIND), "ship"], gates=[GATE]))
    world.report(task, {"result": "success", "output": {"a": 1}})
    if word:
        world.vote(task, word, reason="Because.")
    return task


def break_task(column: str, value: str) -> Callable[[World], None]:
    def do(world: World) -> None:
        task = plain(world)
        sql(f"UPDATE pipelines_task SET {column} = {value} WHERE id = %s", task.pk)

    return do


def i1_unknown_status(world: World) -> None:
    """The status is not the one that the tokens say."""
    task = plain(world)
    sql("UPDATE pipelines_token SET status = 'running' WHERE task_id = %s", task.pk)


def i2_token_moved_in_silence(world: World) -> None:
    task = plain(world)
    sql("UPDATE pipelines_token SET station = 'ship' WHERE task_id = %s", task.pk)


def i2_event_rewritten(world: World) -> None:
    task = plain(world)
    sql("UPDATE pipelines_event SET data = '{}' WHERE task_id = %s AND kind = 'token.moved'", task.pk)


def i3_event_deleted(world: World) -> None:
    task = plain(world)
    sql("DELETE FROM pipelines_event WHERE task_id = %s AND kind = 'job.started'", task.pk)


def i4_decision_without_event(world: World) -> None:
    task = plain(world)
    sql("UPDATE pipelines_event SET decision_id = NULL WHERE task_id = %s", task.pk)


def i4_job_without_event(world: World) -> None:
    task = plain(world)
    token = world.token(task)
    Job.objects.filter(task=task).exclude(state="done").delete()
    Job.objects.create(
        task=task,
        token=token,
        pinned=task.pinned,
        station="test",
        kind="noop",
        visit=1,
        created_at=timezone.now(),
    )


def i5_approved_without_votes(world: World) -> None:
    task = reviewed(world, "approve")
    sql("DELETE FROM pipelines_vote WHERE visit_id = %s", GateVisit.objects.get(task=task).pk)


def i5_by_somebody_not_asked(world: World) -> None:
    reviewed(world, "approve")
    sql("UPDATE pipelines_vote SET entitled_as = jsonb_set(entitled_as, '{roles}', '[\"viewer\"]')")


def i5_by_the_requester(world: World) -> None:
    task = reviewed(world, "approve")
    sql("UPDATE pipelines_task SET requester_id = %s WHERE id = %s", world.reviewer.pk, task.pk)


def i5_self_approved_without_saying_so(world: World) -> None:
    task = reviewed(world, "approve")
    sql("UPDATE pipelines_vote SET entitled_as = entitled_as || '{\"alone\": true}'")
    sql("UPDATE pipelines_task SET requester_id = %s WHERE id = %s", world.reviewer.pk, task.pk)


def i5_on_other_evidence(world: World) -> None:
    reviewed(world, "approve")
    sql("UPDATE pipelines_vote SET evidence_digest = 'other'")


def i5_told_of_a_word_nobody_said(world: World) -> None:
    task = reviewed(world, "approve")
    sql("UPDATE pipelines_gatevisit SET gate = 'another' WHERE task_id = %s", task.pk)


def i6_waiting_for_nobody(world: World) -> None:
    task = reviewed(world)
    sql("DELETE FROM pipelines_gatevisit WHERE task_id = %s", task.pk)


def i6_about_another_version(world: World) -> None:
    task = reviewed(world)
    sql("UPDATE pipelines_gatevisit SET token_version = token_version + 1 WHERE task_id = %s", task.pk)


def i7_running_without_a_job(world: World) -> None:
    task = plain(world)
    job = world.started(task)
    sql("DELETE FROM pipelines_lease WHERE job_id = %s", job.pk)
    sql("DELETE FROM pipelines_job WHERE id = %s", job.pk)


def i7_running_without_a_lease(world: World) -> None:
    world.started(plain(world))
    Lease.objects.all().delete()


def i8_open_job_after_the_end(world: World) -> None:
    task = ended(world)
    sql(
        "UPDATE pipelines_job SET state = 'queued', outcome = NULL, ended_at = NULL, lease_key = NULL"
        " WHERE task_id = %s",
        task.pk,
    )


def i8_open_gate_after_the_end(world: World) -> None:
    task = reviewed(world, "reject")
    sql(
        "UPDATE pipelines_gatevisit SET state = 'open', word = '', decided_at = NULL WHERE task_id = %s",
        task.pk,
    )


def i9_another_outcome(world: World) -> None:
    task = plain(world)
    sql(
        """UPDATE pipelines_job SET outcome = '{"result": "failure"}' WHERE task_id = %s AND state = 'done'""",
        task.pk,
    )


def i9_another_answer(world: World) -> None:
    task = plain(world)
    sql(
        "UPDATE pipelines_decision SET answer = jsonb_set(answer, '{to}', '[\"ship\"]') WHERE task_id = %s",
        task.pk,
    )


def i9_another_situation(world: World) -> None:
    task = plain(world)
    changed = "jsonb_set(situation, '{outcome,result}', '\"failure\"')"
    sql(f"UPDATE pipelines_decision SET situation = {changed} WHERE task_id = %s", task.pk)


def evaluated(world: World) -> Task:
    world.able("model")
    asks = {"id": "good", "when": {"agentic": {"question": "Is it good?"}, "answer": "yes"}, "to": "ship"}
    flags = {"agentic_conditions": True}
    task = world.start(world.line(stations=[station("build", asks), "ship"], flags=flags))
    world.report(task)
    return task


def i9_told_of_an_answer_that_nobody_gave(world: World) -> None:
    task = evaluated(world)
    world.report(task, {"result": "success", "eval": "yes"})
    sql(
        "UPDATE pipelines_event SET kind = 'noted' WHERE task_id = %s AND kind = 'evaluation.answered'",
        task.pk,
    )


def i9_asked_what_nobody_waits_for(world: World) -> None:
    task = evaluated(world)
    other = """jsonb_set(wait, '{evaluation}', '{"agentic": {"question": "Is it bad?"}}')"""
    sql(f"UPDATE pipelines_token SET wait = {other} WHERE task_id = %s", task.pk)


def i10_more_visits_than_the_cap(world: World) -> None:
    task = plain(world)
    sql("""UPDATE pipelines_task SET visits = '{"build": 101}' WHERE id = %s""", task.pk)


def i10_rule_taken_too_often(world: World) -> None:
    again = {"id": "again", "when": {"result": "failure"}, "to": "build", "max_retries": 1}
    task = world.start(world.line(stations=[station("build", again)]))
    sql("""UPDATE pipelines_task SET rules = '{"again": 2}' WHERE id = %s""", task.pk)


def i10_more_than_a_named_budget(world: World) -> None:
    """Counted by the events, as every budget is."""
    again = {"id": "again", "when": {"result": "success"}, "to": "build", "max_retries": 9}
    budget = {"key": "loops", "kind": "same_stage", "most": 1}
    task = world.start(
        world.line(stations=[station("build", again, {"id": "on", "to": "ship"}), "ship"], budgets=[budget])
    )
    world.report(task)
    sql(
        """UPDATE pipelines_event SET data = jsonb_set(data, '{count,edges}', '{"build->build": 2}')
           WHERE task_id = %s AND kind = 'token.moved'""",
        task.pk,
    )


def i18_more_at_once_than_the_agent_takes(world: World) -> None:
    version = world.line(stations=[station("build", agent="coder"), "ship"])
    Agent.objects.create(
        project=world.project, key="coder", owner=world.operator, capacity=2, created_at=timezone.now()
    )
    for _ in range(2):
        world.started(world.start(version))
    sql("UPDATE pipelines_agent SET capacity = 1")


def i11_miscounted_edges(world: World) -> None:
    task = plain(world)
    sql("""UPDATE pipelines_task SET edges = '{"build->ship": 1}' WHERE id = %s""", task.pk)


def i13_line_of_another_project(world: World) -> None:
    task = plain(world)
    sql("UPDATE pipelines_task SET project_id = %s WHERE id = %s", make_project("foreign").pk, task.pk)


def i13_job_of_another_tasks_token(world: World) -> None:
    one, other = plain(world), plain(world)
    sql(
        "UPDATE pipelines_job SET token_id = %s WHERE task_id = %s AND state = 'done'",
        world.token(other).pk,
        one.pk,
    )


def i13_delivery_of_another_lines_trigger(world: World) -> None:
    task, other, now = plain(world), world.line(key="other"), timezone.now()
    trigger = Trigger.objects.create(
        line=other.line,
        kind="schedule",
        created_at=now,
        changed_at=now,
        changed_by=world.admin,
        written_by=world.admin,
    )
    trigger.deliveries.create(key="once", at=now, outcome="started", task=task)


def i13_trigger_of_a_line_of_another_project(world: World) -> None:
    plain(world)
    own, foreign, now = world.line(key="other"), make_world().line(key="foreign"), timezone.now()
    Trigger.objects.create(
        line=own.line,
        kind="line_end",
        source=foreign.line,
        created_at=now,
        changed_at=now,
        changed_by=world.admin,
        written_by=world.admin,
    )


def i14_document_changed(world: World) -> None:
    task = plain(world)
    changed = "jsonb_set(document, '{name}', '\"Another\"')"
    sql(f"UPDATE pipelines_lineversion SET document = {changed} WHERE id = %s", task.pinned_id)


def i14_row_removed(world: World) -> None:
    task = plain(world)
    sql("DELETE FROM pipelines_versionstation WHERE version_id = %s AND key = 'test'", task.pinned_id)


def i15_guard_removed(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE pipelines_event DISABLE TRIGGER gateline_update")


def i17_no_ticket(world: World) -> None:
    plain(world)
    sql("DELETE FROM procrastinate_jobs")


def i17_held_for_no_reason(world: World) -> None:
    task = plain(world)
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    sql("UPDATE pipelines_token SET wait = '{}' WHERE id = %s", token.pk)


def due(world: World, then: str = "remind") -> Task:
    """Waits at a gate that is due in an hour."""
    gate = {**GATE, "due": {"after": "1h", "then": then}}
    task = world.start(world.line(stations=[station("build", BEHIND), "ship"], gates=[gate]))
    world.report(task)
    return task


def i5_rejected_before_it_was_due(world: World) -> None:
    task = due(world, "reject")
    [row] = Due.objects.filter(task=task)
    Due.objects.update(due_at=timezone.now())
    engine.fire_due_time_and_return_result(row.pk)


def i8_due_time_after_its_gate(world: World) -> None:
    task = due(world)
    visit = world.visit(task)
    world.vote(task)
    Due.objects.create(
        task=task, kind="gate", key=str(visit.pk), visit=visit, set_at=task.created_at, due_at=task.created_at
    )


def i17_due_and_nothing_tells(world: World) -> None:
    due(world)
    Due.objects.all().delete()


def escalated(world: World) -> Task:
    task = plain(world)
    engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Too big.")
    return task


def i10_forward_while_escalated(world: World) -> None:
    task = escalated(world)
    sql("UPDATE pipelines_task SET escalations = 0 WHERE id = %s", task.pk)
    world.report(task)


def i11_escalations_miscounted(world: World) -> None:
    task = escalated(world)
    sql("UPDATE pipelines_task SET escalations = 2 WHERE id = %s", task.pk)


def i11_escalation_untold(world: World) -> None:
    task = escalated(world)
    sql("UPDATE pipelines_event SET kind = 'noted' WHERE task_id = %s AND kind LIKE 'escalation%%'", task.pk)


def i17_held_by_no_escalation(world: World) -> None:
    task = plain(world)
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    sql("""UPDATE pipelines_token SET wait = '{"escalation": "gone"}' WHERE id = %s""", token.pk)


def i19_a_word_that_is_swallowed(world: World) -> None:
    """As revision 1 of the law did it: all that was counted since the gate asked counts for its rules, too."""
    task = asked_then_right_moves(world, forked(world))

    def swallowed(facts: Any, now: Any, words: Any) -> Any:
        return {**facts, **now, "gates": words}

    with patch("pipelines.engine.commands.vote.facts_with_votes", swallowed):
        world.vote(task, "reject", reason="No.")
    assert {violation.invariant for violation in find_violations()} == {"I19"}


def i19_a_word_that_leads_elsewhere(world: World) -> None:
    task = reviewed(world, "approve")
    elsewhere = """jsonb_set(answer, '{to}', '["build"]')"""
    sql(
        f"UPDATE pipelines_decision SET answer = {elsewhere} WHERE task_id = %s AND cause LIKE 'gate:%%'",
        task.pk,
    )
