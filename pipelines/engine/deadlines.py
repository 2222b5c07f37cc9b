"""Table of what happens at a due time: one function per kind. Each gets the batch that holds the task's lock
and the due time, whose row is already deleted. It either flushes its changes, or calls another function of the
engine and leaves the batch unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.engine.commands import deadlocks, dependencies, pauses
from pipelines.engine.commands.reconsider import decide_again_when_agent_is_free
from pipelines.engine.commands.report import report
from pipelines.engine.commands.submit import TASK_DUE
from pipelines.engine.commands.vote import store_decision_and_move_task
from pipelines.engine.commands.vote_request import CHOOSES, VoteRequest
from pipelines.engine.core.agent_capacity import FACTS
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import decide_and_store_decision
from pipelines.engine.core.due_times import GATE_DUE, LATE, PAUSABLE
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.unassigned import WAIT, outcome_of_wait
from pipelines.engine.core.values import ENGINE, Report
from pipelines.engine.moves import decision_application, escalations, evaluations
from pipelines.engine.moves.absences import ids_of_deciders, stand_in_by_absent_by_project
from pipelines.engine.moves.completion import store_outcome_and_end_job
from pipelines.engine.moves.entitlement import entitled_people_by_id
from pipelines.engine.moves.escalations import ACTIONS
from pipelines.engine.moves.evaluations import UNTAKEN
from pipelines.engine.moves.gates import SOON, approval_policy_of_visit, due_time_after
from pipelines.engine.moves.releases import CIRCLE, DEPENDENCY, RESUME
from pipelines.engine.statements import TAKE_DUE_TIME
from pipelines.models import Due, Escalation, Event, GateVisit, Job, User, Word
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports import leases, observers
from pipelines.queries import versions
from pipelines.routing.document.line import Gate, ParsedLine


def report_end_of_wait(batch: Batch, due: Due) -> None:
    """Handle due times of kind `wait`: the engine reports the end of a wait like any other outcome."""
    job = batch.jobs.get(due.job_id or 0)
    if job is None or job.state != Job.State.RUNNING:
        return
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    station = versions.parsed_line_by_version_id(job.pinned_id).station(job.station)
    outcome = outcome_of_wait(station, task, due)
    report([Report(job.pk, job.attempt, None, outcome, by=str(ENGINE), token_version=token.version)])


def ask_person_instead_of_machine(batch: Batch, due: Due) -> None:
    """Handle due times of kind `evaluation`: a person is asked what no machine can answer any more (law §3). A
    question that has started has limits of its own, and one that waits for busy workers will start. Both are
    checked again later, because those workers may be lost."""
    job = batch.jobs.get(due.job_id or 0)
    if job is None or job.state == Job.State.DONE:
        return
    task = batch.tasks[job.task_id]
    if job.state == Job.State.RUNNING or job.kind in leases.evaluations_live_workers_can_answer(
        task.project.owner.key, task.project_id
    ):
        evaluations.schedule_check_for_machines(batch, task, job)
    else:
        outcome = {"result": "cancelled", "summary": "No worker is left that can answer this question."}
        store_outcome_and_end_job(batch, job, outcome, str(ENGINE))
        context, situation = evaluations.context_and_situation_after_answer_job(
            batch, job, ENGINE, f"due:{job.pk}"
        )
        decision_application.apply_decision(context, decide_and_store_decision(context, situation))
    batch.flush()


def remind_or_act_on_overdue_gate(batch: Batch, due: Due) -> None:
    """Handle due times of kind `gate`: do what its `due.then` says, which is never an approval (law §6)."""
    assert due.visit_id is not None
    visit = GateVisit.objects.select_related("task", "job", "asked_by").get(pk=due.visit_id)
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    gate = line.gate(visit.gate)
    assert gate.due is not None
    if due.key.endswith(SOON):
        _emit_gate_reminder(batch, visit, gate, 0)
    elif gate.due.then == "reject":
        _reject_overdue_gate(batch, visit, line, gate)
    else:
        number = _record_overdue_and_count(batch, visit, gate.due.then)
        # One escalation, however often it is told after that
        if gate.due.then == "escalate" and number == 1:
            _escalate_overdue_gate(batch, visit, line, gate)
        else:
            _emit_gate_reminder(batch, visit, gate, number)
        # law §6, Due times: again after `every`, at most `times` times
        if gate.due.every and number <= gate.due.max_reminders:
            again = due_time_after(visit.task, gate.due, batch.now, gate.due.every)
            batch.schedule_due_time(
                GATE_DUE, batch.tasks[visit.task_id], again, key=str(visit.pk), visit=visit
            )
    batch.flush()


def _emit_gate_reminder(batch: Batch, visit: GateVisit, gate: Gate, number: int) -> None:
    """Remind those whom the gate notifies or, if it names none, everybody who can still decide. `number`: 0 before it
    is due."""
    people = () if gate.notify else _people_who_can_still_decide(visit)
    mailed = User.objects.filter(pk__in=people).exclude(email="").order_by("pk")
    addresses = tuple(gate.notify) or tuple(dict.fromkeys(mailed.values_list("email", flat=True)))
    batch.emit(observers.GateOverdue(visit.pk, visit.task_id, addresses, batch.now, number, people))


def _record_overdue_and_count(batch: Batch, visit: GateVisit, then: str) -> int:
    """Record that the review is overdue. Returns how often that was recorded by now."""
    earlier_events = Event.objects.filter(task=visit.task_id, kind="gate.overdue", data__visit=str(visit.pk))
    number = earlier_events.count() + 1
    again: dict[str, Any] = {"number": number} if number > 1 else {}
    batch.append_event(
        batch.tasks[visit.task_id],
        "gate.overdue",
        ENGINE,
        token=batch.tokens[visit.token_id],
        source=visit.gate,
        target=visit.gate,
        trigger=f"due:{visit.gate}",
        visit=str(visit.pk),
        then=then,
        **again,
    )
    return number


def _escalate_overdue_gate(batch: Batch, visit: GateVisit, line: ParsedLine, gate: Gate) -> None:
    """Open an escalation, until the review is decided or somebody with the role resolves it."""
    reason = f"Nobody decided at {gate.name} by {visit.due_at:%Y-%m-%d %H:%M} UTC."
    task = batch.tasks[visit.task_id]
    escalations.open_escalation(batch, task, line, "gate_overdue", ENGINE, visit=visit, reason=reason)


def _people_who_can_still_decide(visit: GateVisit) -> tuple[int, ...]:
    """Return the ids of everybody who can decide. Whoever has voted is reminded of nothing."""
    project_id = visit.task.project_id
    away = stand_in_by_absent_by_project([project_id])[project_id]
    policy = approval_policy_of_visit(visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id))
    people, votes = entitled_people_by_id(project_id), list(visit.votes.all())
    return tuple(ids_of_deciders(people, away, visit, policy, votes))


def _reject_overdue_gate(batch: Batch, visit: GateVisit, line: ParsedLine, gate: Gate) -> None:
    """Reject as a person would, by the gate's `on_reject`. Where a reviewer would choose the route, the task
    fails."""
    assert visit.due_at is not None
    chooses = (gate.on_reject or line.policy.on_reject) == CHOOSES
    request = VoteRequest(
        # law §6: a rejection that the clock cast says so.
        user=None,
        word=Word.REJECT,
        reason=f"Nobody decided by {visit.due_at:%Y-%m-%d %H:%M} UTC.",
        route="fail" if chooses else "",
        token_version=visit.token_version,
        evidence_digest=visit.evidence_digest,
        via="",
    )
    store_decision_and_move_task(
        batch, batch.tasks[visit.task_id], batch.tokens[visit.token_id], visit, request
    )


def run_breach_actions_of_escalation(batch: Batch, due: Due) -> None:
    """Handle due times of kind `escalation`: run the actions its line defines (law §8, AEEF E18). That it fires
    once is its row's, which is gone by now; that a breach is recorded once, `breached_at`'s."""
    escalation = Escalation.objects.get(pk=due.key)
    if escalation.state != Escalation.State.OPEN or escalation.breached_at:
        return
    task = batch.tasks[due.task_id]
    escalation.breached_at = batch.now
    escalation.save(update_fields=["breached_at"])
    escalations.record_escalation_event(
        batch, escalation, task, "escalation.breached", ENGINE, actions=list(escalation.on_breach)
    )
    for action in escalation.on_breach:
        ACTIONS[action](batch, task, escalation)
    batch.flush()


def notify_requester_of_late_task(batch: Batch, due: Due) -> None:
    """Handle due times of kind `task`: whoever requested it is told, and nothing else happens."""
    batch.emit(observers.TaskLate(due.task_id, batch.now))
    batch.flush()


Fires = Callable[[Batch, Due], None]

KINDS: dict[str, Fires] = {
    GATE_DUE: remind_or_act_on_overdue_gate,
    escalations.KIND: run_breach_actions_of_escalation,
    WAIT: report_end_of_wait,
    FACTS: decide_again_when_agent_is_free,
    LATE: deadlocks.open_deadlock_if_work_is_late,
    RESUME: deadlocks.release_what_deadlock_held,
    DEPENDENCY: dependencies.hold_or_release_by_dependencies,
    CIRCLE: dependencies.detect_circle_at_due_time,
    UNTAKEN: ask_person_instead_of_machine,
    TASK_DUE: notify_requester_of_late_task,
    pauses.PAUSE: pauses.hold_work_of_paused_task,
    pauses.RESUME_PAUSED: pauses.release_work_of_unpaused_task,
}
PAUSES = (pauses.PAUSE, pauses.RESUME_PAUSED)
BESIDES: dict[str, Callable[[int], Iterable[int]]] = {CIRCLE: dependencies.ids_of_others_in_circle}
"""Kinds that also need the locks of other tasks: which ones, by task id."""


def fire_due_time_and_return_result(due_id: int, now: datetime | None = None) -> str:
    """Fire this due time. Returns `fired`, or `gone` when the row no longer exists under its task's lock
    (another worker was first, or what it waited for ended) or is not due. `now`: the database's clock, unless
    told."""
    return run_in_transaction(partial(_fire_due_time_and_return_result, due_id, now))


def _fire_due_time_and_return_result(due_id: int, now: datetime | None) -> str:
    # house §2: found without a lock, locked, and looked at again under it.
    entry = Due.objects.filter(pk=due_id).values_list("task_id", "kind").first()
    if entry is None:
        return "gone"
    task_id, kind = entry
    batch = Batch.of_tasks(task_id, *(BESIDES[kind](task_id) if kind in BESIDES else ()))
    # law §17: its clock is stopped or moved first by a pause, made or over since it was looked for.
    if kind in PAUSABLE and any(due.kind in PAUSES for due in batch.dues.values()):
        return "gone"
    # Out of the batch: the row is deleted here, and the flush looks through those that are left
    due = batch.dues.pop(due_id, None)
    if due is None or not _delete_due_time_if_due(due, now or batch.now):
        return "gone"
    KINDS[due.kind](batch, due)
    return "fired"


def _delete_due_time_if_due(due: Due, now: datetime) -> bool:
    # house §6: one conditional DELETE, so that one of several workers fires it
    return execute(TAKE_DUE_TIME, [due.pk, now]) == 1
