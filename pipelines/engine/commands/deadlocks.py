"""Deadlocks: finding them, notifying the responsible role, and resolving them so that held work continues (AEEF E22,
E23)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from pipelines.engine.commands import manual_actions
from pipelines.engine.commands.role_answers import RoleAnswer, checked_row_to_answer, refuse_if_resolved
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    situation_with_drawn_samples,
)
from pipelines.engine.core.expected_times import is_job_late_or_reschedule
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import ENGINE, job_fields_for_event
from pipelines.engine.moves import decision_application, escalations
from pipelines.engine.moves.completion import store_outcome_and_end_job
from pipelines.engine.moves.deadlock_records import (
    position_as_deadlock_party,
    save_deadlock_and_notify,
    unsaved_deadlock,
)
from pipelines.engine.moves.pausing import (
    hold_token_and_its_job,
    is_hold_paused_by,
    release_matching_holds,
    try_to_hold_token_with_open_work,
)
from pipelines.engine.moves.releases import DEPENDENCY, save_deadlock_as_resolved
from pipelines.errors import Conflict
from pipelines.models import Deadlock, Dependency, Due, Job, Status, Task, Token, User
from pipelines.queries import versions
from pipelines.routing.decide.deadlocks import CIRCULAR, TIMEOUT
from pipelines.routing.decide.effects import flatten_holds, hold_until_escalation_resolved, nest_holds
from pipelines.routing.document.escalations import ARCHITECT

WORDS = ("output", "context", "escalate", "cancel")
"""Words of a person who resolves a deadlock. Only a station that timed out can get an output."""

# Found


def open_deadlock_if_work_is_late(batch: Batch, due: Due) -> None:
    """Handle a due time of kind `deadlock`: a job runs for more than twice its expected time. A token that
    waits for people by then is left to their own due times."""
    task, token = batch.tasks[due.task_id], batch.tokens[int(due.key)]
    job = batch.open_job_or_none(token)
    if job is None or token.status != Status.RUNNING:
        return
    # Where it is not, it has set the due time anew, which has to be written.
    if not is_job_late_or_reschedule(batch, task, token, job):
        batch.flush()
        return
    deadlock = unsaved_deadlock(task, TIMEOUT)
    if try_to_hold_token_with_open_work(batch, task, token, ENGINE, str(deadlock.pk), deadlock=TIMEOUT):
        save_deadlock_and_notify(batch, deadlock, [position_as_deadlock_party(task, token)])
        batch.flush()


def open_deadlock_for_new_circle(batch: Batch, task: Task, circle: Sequence[Task]) -> None:
    """Record a circle of tasks that wait for each other; all of them are locked. Does nothing if there is none, or if
    it is already recorded and unresolved."""
    open_ones = Deadlock.objects.filter(tasks=task.pk, kind=CIRCULAR, state=Deadlock.State.OPEN)
    recorded = [set(record.tasks.values_list("pk", flat=True)) for record in open_ones]
    # A circle within one that is recorded is the same deadlock
    if not circle or any({each.pk for each in circle} <= each for each in recorded):
        return
    deadlock = unsaved_deadlock(task, CIRCULAR)
    parties = [
        (member, token) for member in circle for token in batch.living_tokens(member) if not token.forked
    ]
    for member, token in parties:
        try_to_hold_token_with_open_work(batch, member, token, ENGINE, str(deadlock.pk), deadlock=CIRCULAR)
    save_deadlock_and_notify(batch, deadlock, [position_as_deadlock_party(*party) for party in parties])


def asking_and_asked_task_ids(project_id: int) -> Iterator[tuple[int, int]]:
    """Return the pairs (asking task, asked task) of a project: tasks whose signal `hold` names another task
    in `meta.task`. A task that asks a person is not among them."""
    asking = Token.objects.filter(task__project=project_id, status=Status.BLOCKED, wait__has_key="question")
    for token in asking.select_related("task__project"):
        job = token.jobs.filter(state=Job.State.DONE).order_by("-pk").first()
        for signal in ((job.outcome or {}).get("signals") or ()) if job else ():
            name = str((signal.get("meta") or {}).get("task") or "") if isinstance(signal, dict) else ""
            number = name.removeprefix(f"WI-{token.task.project.key}-")
            # Text of an agent; any 18 digits fit a bigint.
            if number != name and number.isascii() and number.isdigit() and len(number) < 19:
                on = Task.objects.filter(project=project_id, number=int(number)).values_list("pk", flat=True)
                yield from ((token.task_id, pk) for pk in on)


# Resolved


@dataclass(frozen=True)
class DeadlockAnswer(RoleAnswer):
    output: Any


def resolve_deadlock(deadlock_id: UUID, *, user: User, word: str, reason: str, output: Any = None) -> Task:
    """Resolve a deadlock, once, and release what it held. `output`: the station completes with this output, any JSON
    value. `context`: the station runs again with the reason as feedback; in a circle, the task where it was found
    stops waiting for the others. `escalate`: to the Solution Architect, who must resolve it before any work
    continues. `cancel`: cancels the task where it was found. Raises NotFound, Forbidden (asked of another role),
    Invalid (path `word` or `reason`), Conflict (already resolved)."""
    answer = DeadlockAnswer(user, word, payload.checked_text(reason, "reason").strip(), output)
    if output is not None:
        # It becomes the outcome of a station, which is refused what cannot be stored
        payload.checked_digest({"output": output}, "outcome")
    return run_in_transaction(partial(_resolve_deadlock, deadlock_id, answer))


def _resolve_deadlock(deadlock_id: UUID, answer: DeadlockAnswer) -> Task:
    known = Deadlock.objects.select_related("task").filter(pk=deadlock_id).first()
    offered = WORDS if known is None or known.kind == TIMEOUT else WORDS[1:]
    deadlock = checked_row_to_answer(known, answer, WORDS, offered)
    if deadlock.escalation_id is not None:
        raise Conflict("Branches contradict each other. Resolve the escalation of it.")
    batch = Batch.of_tasks(*deadlock.tasks.values_list("pk", flat=True))
    task = batch.tasks[deadlock.task_id]
    # Once more, under the lock: somebody else may have resolved it meanwhile.
    deadlock = Deadlock.objects.select_related("resolved_by").get(pk=deadlock_id)
    refuse_if_resolved(deadlock)
    deadlock.resolved_by, deadlock.answer = answer.user, answer.reason
    save_deadlock_as_resolved(batch, deadlock, answer.word)
    _record_resolution(batch, deadlock, answer)
    paused = [
        (member, token)
        for member in batch.tasks.values()
        for token in batch.living_tokens(member)
        if any(map(is_hold_paused_by(deadlock.pk), flatten_holds(token.wait)))
    ]
    ACTS[answer.word](batch, deadlock, task, paused, answer)
    batch.flush()
    if answer.word == "cancel":
        # Only after the flush, since it reads the task in a batch of its own
        manual_actions.cancel(task.pk, actor=answer.actor, reason=answer.reason)
    return task


def _record_resolution(batch: Batch, deadlock: Deadlock, answer: DeadlockAnswer) -> None:
    for task in batch.tasks.values():
        batch.append_event(
            task,
            "deadlock.resolved",
            answer.actor,
            trigger=deadlock.kind,
            deadlock=str(deadlock.pk),
            how=answer.word,
            reason=answer.reason,
        )


PausedTokens = Sequence[tuple[Task, Token]]


def _complete_paused_stations_with_output(
    batch: Batch, deadlock: Deadlock, task: Task, paused: PausedTokens, answer: DeadlockAnswer
) -> None:
    """Complete the station with the output that a person chose; it is routed like any outcome."""
    for member, token in paused:
        job = batch.open_job_or_none(token)
        assert job is not None
        outcome = {"result": "success", "output": answer.output, "summary": answer.reason}
        store_outcome_and_end_job(batch, job, outcome, str(answer.actor))
        cause = f"deadlock:{deadlock.pk}"
        batch.append_event(
            member,
            "job.reported",
            answer.actor,
            token=token,
            source=job.station,
            target=job.station,
            trigger=cause,
            job=job_fields_for_event(job),
            outcome={"result": job.result},
        )
        context = DecisionContext(batch, member, token, job, answer.actor, cause, cause)
        decision_application.apply_decision(
            context, decide_and_store_decision(context, situation_with_drawn_samples(context))
        )


def _rerun_paused_stations_with_reason(
    batch: Batch, deadlock: Deadlock, task: Task, paused: PausedTokens, answer: DeadlockAnswer
) -> None:
    if deadlock.kind == CIRCULAR:
        parties = [party["task"] for party in deadlock.parties]
        # Those of the circle alone: it may wait for other tasks besides
        Dependency.objects.filter(task=task, on__in=parties).delete()
        # By a due time: this batch read the dependencies before they were deleted
        batch.schedule_due_time(DEPENDENCY, task, batch.now, key=str(deadlock.pk))
        _answer_question(batch, task, answer)
    for member, token in paused:
        if member.pk == task.pk and _was_running_when_detected(token, deadlock):
            _begin_new_visit_with_reason(batch, task, token, answer)
            continue
        feedback = answer.reason if member.pk == task.pk else ""
        release_matching_holds(
            batch, member, token, answer.actor, is_hold_paused_by(deadlock.pk), feedback=feedback
        )


def _was_running_when_detected(token: Token, deadlock: Deadlock) -> bool:
    """Return whether the token's job was running when the deadlock was detected."""
    return any(
        wait.get("was") == Status.RUNNING
        for wait in flatten_holds(token.wait)
        if is_hold_paused_by(deadlock.pk)(wait)
    )


def _begin_new_visit_with_reason(batch: Batch, task: Task, token: Token, answer: DeadlockAnswer) -> None:
    """End the running job and start a new visit that gets the reason. Other holds on the task apply to it as well."""
    job = batch.open_job_or_none(token)
    assert job is not None
    store_outcome_and_end_job(batch, job, {"result": "cancelled", "reason": "manual"}, str(answer.actor))
    why = f"deadlock:{answer.word}"
    manual_actions.open_another_visit(
        batch, task, token, answer.actor, why, feedback=answer.reason, reason=answer.reason
    )


def _answer_question(batch: Batch, task: Task, answer: DeadlockAnswer) -> None:
    """Answer the question that the task asked another one, with the reason of whoever resolves the circle."""
    asking = {pk for pk, _ in asking_and_asked_task_ids(task.project_id)}
    for token in batch.living_tokens(task) if task.pk in asking else ():
        if token.status == Status.BLOCKED and token.wait.get("question"):
            question = str(token.wait["question"])
            manual_actions.open_another_visit(
                batch, task, token, answer.actor, "answer", feedback=answer.reason, asked=question
            )


def _escalate_deadlock(
    batch: Batch, deadlock: Deadlock, task: Task, paused: PausedTokens, answer: DeadlockAnswer
) -> None:
    """Open an escalation, which from now on holds what the deadlock held."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    opened = escalations.open_escalation(
        batch, task, line, "deadlock", answer.actor, role=ARCHITECT, reason=answer.reason
    )
    for member, token in paused:
        job = batch.open_job_or_none(token)
        if job and member.pk == task.pk:
            # What else holds it goes on holding it
            others = [wait for wait in flatten_holds(token.wait) if not is_hold_paused_by(deadlock.pk)(wait)]
            hold_token_and_its_job(
                batch,
                member,
                token,
                job,
                answer.actor,
                nest_holds([hold_until_escalation_resolved(str(opened.pk), opened.trigger), *others]),
            )
        else:
            release_matching_holds(batch, member, token, answer.actor, is_hold_paused_by(deadlock.pk))


def _release_all_parties(
    batch: Batch, deadlock: Deadlock, task: Task, paused: PausedTokens, answer: DeadlockAnswer
) -> None:
    """Release the other parties; the caller then cancels the task itself."""
    for member, token in paused:
        release_matching_holds(batch, member, token, answer.actor, is_hold_paused_by(deadlock.pk))


ACTS = {
    "output": _complete_paused_stations_with_output,
    "context": _rerun_paused_stations_with_reason,
    "escalate": _escalate_deadlock,
    "cancel": _release_all_parties,
}


def release_what_deadlock_held(batch: Batch, due: Due) -> None:
    """Handle due times of kind `resume`: a deadlock is over because another party ended."""
    task = batch.tasks[due.task_id]
    for token in batch.living_tokens(task):
        release_matching_holds(batch, task, token, ENGINE, is_hold_paused_by(due.key))
    batch.flush()
