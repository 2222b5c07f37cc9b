"""Actions of people on a task besides deciding gates: complete, answer, hold, release, cancel."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from pipelines.engine.commands import inputs as forms
from pipelines.engine.commands.report import report
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import decide_and_store_decision, stations_of_other_tokens_fact
from pipelines.engine.core.locked_token import LockedToken, lock_token_if_it_is_left
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.unassigned import MANUAL
from pipelines.engine.core.values import (
    Actor,
    Report,
    ReportResult,
    add_counts_to_task,
    job_fields_for_event,
    token_fields_for_event,
)
from pipelines.engine.moves import decision_application, evaluations
from pipelines.engine.moves.completion import cancel_task, store_outcome_and_end_job
from pipelines.engine.moves.job_creation import create_job_of_current_station
from pipelines.engine.moves.pausing import release_matching_holds
from pipelines.engine.moves.releases import drop_open_dependencies, release_circles_of_answered_question
from pipelines.errors import Conflict, Invalid, NotFound, first_row_or_raise_not_found
from pipelines.models import ENDED, Decision, Job, Purpose, Status, Task, Token, User
from pipelines.ports import observers
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.routing.decide.effects import flatten_holds, is_hold_by_dependency, is_hold_by_pause
from pipelines.routing.decide.transitions import (
    TokenPlace,
    forbidden_parallel_message_or_empty,
    rerun_transition,
)
from pipelines.routing.document.evaluations import ANSWERS
from pipelines.routing.document.kinds import KINDS, wait_for_checks

RETRIED = (Status.STUCK, Status.BLOCKED, Status.HELD)
CHECKS_RERUN = "checks_rerun"
"""The trigger of a visit that begins by asking the host to run its checks again."""


def complete_manual_job(
    job_id: int, *, user: User, token_version: int, outcome: dict[str, Any]
) -> ReportResult:
    """Report a manual job on behalf of a person, after checking the form of its station. Raises NotFound, Invalid,
    Conflict."""
    job = first_row_or_raise_not_found(Job.objects.filter(pk=job_id, kind=MANUAL))
    filled = _outcome_with_form_values(job, outcome)
    # As any outcome: the fence refuses it if the job was reported or the task moved meanwhile
    result = report([Report(job_id, job.attempt, None, filled, str(Actor.person(user)), token_version)])[0]
    if result.status == "invalid":
        raise Invalid.at(result.path, result.detail)
    if result.status in ("conflict", "ignored"):
        raise Conflict("This job was reported, or its task changed, after you opened the page.")
    return result


def _outcome_with_form_values(job: Job, outcome: dict[str, Any]) -> dict[str, Any]:
    """The outcome, with the station's form checked and defaults filled in. The form is optional unless the report is
    a success."""
    station = versions.parsed_line_by_version_id(job.pinned_id).station(job.station)
    fields = forms.form_fields_of_manual_station(station)
    if not fields or not isinstance(outcome, dict) or not isinstance(outcome.get("output", {}), dict):
        return outcome
    if "output" not in outcome and outcome.get("result") != "success":
        return outcome
    output, chooses = outcome.get("output", {}), KINDS[station.kind].chooses
    if chooses and "eval" in outcome:
        output = {fields[0].key: outcome["eval"], **output}
    filled = forms.checked_inputs_with_defaults(
        fields, output, ValueScope.scope_of_task(job.task), "outcome.output"
    )
    if chooses:
        # The input passes through: a person only adds the label (dialects B12).
        rest = {key: value for key, value in outcome.items() if key != "output"}
        return {**rest, "eval": filled[fields[0].key]}
    return {**outcome, "output": filled}


def answer_blocked_token(
    token_id: int, *, user: User, token_version: int, text: str = "", fact: str = ""
) -> Task:
    """Answer a blocked token: `fact` (yes, no; pass, block) for an evaluation that a person must answer, then the
    same Situation is decided again with it; `text` for a question: the station runs again with it as feedback. An
    agentic question may be answered while a machine is asked, too: the machine's job is closed.

    Raises NotFound, Conflict (not blocked any more), Invalid (path `fact` or `text`)."""
    return run_in_transaction(
        partial(
            _answer_blocked_token, token_id, user, token_version, payload.checked_text(text, "text"), fact
        )
    )


def _answer_blocked_token(token_id: int, user: User, token_version: int, text: str, fact: str) -> Task:
    batch, task, token = lock_unchanged_token(token_id, token_version, (Status.BLOCKED, Status.EVALUATING))
    actor = Actor.person(user)
    evaluation = token.wait.get("evaluation")
    if token.status == Status.EVALUATING and "agentic" not in evaluation:
        raise Conflict("A program decides this. A person is asked only if it cannot run.")
    if evaluation:
        _decide_again_with_answer(batch, token, actor, _checked_answer_fact(evaluation, fact), text)
    else:
        if not text.strip():
            raise Invalid.at("text", "is missing or blank", "Enter what the station needs to know.")
        # Before it runs again, which forgets what it waited for
        question = str(token.wait.get("question") or "")
        release_circles_of_answered_question(batch, task, user, text)
        open_another_visit(batch, task, token, actor, "answer", feedback=text, asked=question, reason=text)
    batch.flush()
    return task


def _checked_answer_fact(evaluation: dict[str, Any], fact: str) -> str:
    words = ANSWERS[next(iter(evaluation))]
    if fact not in words:
        raise Invalid.at("fact", f"has to be {words[0]} or {words[1]}")
    return fact


def _decide_again_with_answer(batch: Batch, token: Token, actor: Actor, fact: str, text: str) -> None:
    """Decide the same situation again with the answer added (law §3). A question that a machine still has to
    answer is closed."""
    evaluation, job = token.wait["evaluation"], batch.open_job_or_none(token)
    if job:
        store_outcome_and_end_job(batch, job, {"result": "cancelled", "reason": "manual"}, str(actor))
    answered_evaluation = {**evaluation, "answer": fact, **({"text": text} if text else {})}
    # With the version: the same token may be asked again, and a cause makes one decision (house §3 I4)
    cause = f"answer:{token.pk}.{token.version}"
    context, situation = evaluations.context_and_situation_with_answer(
        batch, token, actor, cause, answered_evaluation
    )
    decision_application.apply_decision(context, decide_and_store_decision(context, situation))


def rerun_checks(token_id: int, *, user: User | Actor, token_version: int, reason: str = "") -> Task:
    """Run the station of a token again that waits with checks which failed or timed out: whoever does it asks the host
    first to run what failed again. Raises NotFound, Conflict (also where there are no such checks)."""
    actor = user if isinstance(user, Actor) else Actor.person(user)
    clean_reason = payload.checked_text(reason, "reason")
    return run_in_transaction(partial(_rerun_checks, token_id, actor, token_version, clean_reason))


def _rerun_checks(token_id: int, actor: Actor, token_version: int, reason: str) -> Task:
    batch, task, token = lock_unchanged_token(token_id, token_version, RETRIED)
    last = decided_or_last_job_or_none(token)
    if batch.open_job_or_none(token) or not (last and wait_for_checks.may_rerun(last.kind, last.outcome)):
        raise Conflict("No checks of a host failed or timed out here.")
    open_another_visit(
        batch, task, token, actor, CHECKS_RERUN, **feedback_and_question_of_last_run(token), reason=reason
    )
    batch.flush()
    return task


def feedback_and_question_of_last_run(token: Token) -> dict[str, str]:
    """The feedback and the question with which its last run began, for one that repeats it."""
    last = decided_or_last_job_or_none(token)
    return {"feedback": last.feedback, "asked": last.asked} if last else {"feedback": ""}


def decided_or_last_job_or_none(token: Token) -> Job | None:
    """The job whose outcome the token waits with, or else its last job."""
    decided = Decision.objects.filter(pk=token.wait["decision"]) if "decision" in token.wait else None
    # A question about an outcome is a job as well, and none whose outcome is decided
    stations = token.jobs.filter(purpose=Purpose.STATION)
    jobs = Job.objects.filter(pk__in=decided.values("job_id")) if decided else stations.order_by("-pk")
    return jobs.first()


def open_another_visit(
    batch: Batch,
    task: Task,
    token: Token,
    actor: Actor,
    why: str,
    *,
    feedback: str,
    asked: str = "",
    reason: str = "",
    at: str = "",
    breaks: Collection[str] = (),
) -> None:
    """Start another run. It counts as a visit but uses no budget (law §5 Counting). `at`: a station other than the
    token's own."""
    source = token.station
    here = TokenPlace(
        versions.parsed_line_by_version_id(task.pinned_id),
        source if at else _station_key_in_pinned_version(task, token),
        token.origin or None,
    )
    change = rerun_transition(here, at, feedback)
    [entry], count = change.entries, add_counts_to_task(task, change.count)
    decision_application.move_token_to_entry(batch, token, entry)
    job = create_job_of_current_station(batch, task, token, feedback=entry.feedback, asked=asked)
    batch.mark_token_changed(token)
    batch.derive_and_set_task_status(task)
    batch.append_event(
        task,
        "token.moved",
        actor,
        token=token,
        source=source,
        target=token.station,
        trigger=why,
        tokens=[token_fields_for_event(token)],
        job=job_fields_for_event(job),
        count=count,
        reason=reason,
        # law §14: moves by hand are outside of guarantees, and their event says so.
        by="hand",
        breaks=list(breaks),
    )
    decision_application.merge_joins_that_are_ready(batch, task, actor, why)


def refuse_work_beside_forbidden(batch: Batch, task: Task, token: Token, station: str) -> None:
    """Raises Conflict where another branch stands at a station that must never run in parallel with this one."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    others = stations_of_other_tokens_fact(batch, task, token, line).get("beside", ())
    if message := forbidden_parallel_message_or_empty(line, station, others):
        raise Conflict(f"{message} Wait until the other branch has left.")


def _station_key_in_pinned_version(task: Task, token: Token) -> str:
    """Return the token's station by its key in the version that the task was migrated to since. Raises Conflict
    if it is gone."""
    last = decided_or_last_job_or_none(token)
    place = (
        decision_application.mapped_station_key_or_none(
            versions.parsed_line_by_version_id(task.pinned_id), last, token.station
        )
        if last
        else token.station
    )
    # The next visit would start under a version that does not have it
    if place is None:
        raise Conflict(
            f"The station {token.station} is not part of version {task.pinned.number}, "
            "to which this task was migrated. "
            "Migrate it with a mapping for this station."
        )
    return place


def hold(token_id: int, *, user: User, token_version: int, reason: str = "") -> Task:
    """Keep a queued token from starting until somebody releases it. Raises NotFound, Conflict."""
    return run_in_transaction(
        partial(_hold, token_id, user, token_version, payload.checked_text(reason, "reason"))
    )


def _hold(token_id: int, user: User, token_version: int, reason: str) -> Task:
    batch, task, token = lock_unchanged_token(token_id, token_version, (Status.QUEUED,))
    if not batch.open_job_or_none(token):
        raise Conflict("This branch waits for others at a join. Put those on hold.")
    token.wait = {"by": str(user), "reason": reason, "was": token.status}
    token.status = Status.HELD
    batch.record_token_stays(task, token, "token.waits", Actor.person(user), "hold", wait=token.wait)
    batch.emit(observers.TaskWaits(task.pk, token.pk, token.status, "", batch.now, held_by=user.pk))
    batch.flush()
    return task


def release(token_id: int, *, user: User, token_version: int) -> Task:
    """Release a token that a person put on hold, or that waits for other tasks; it no longer waits for them. Raises
    NotFound, Conflict."""
    return run_in_transaction(partial(_release, token_id, user, token_version))


def _release(token_id: int, user: User, token_version: int) -> Task:
    batch, task, token = lock_unchanged_token(token_id, token_version, (Status.HELD,))
    if not batch.open_job_or_none(token) or "paused_by" in token.wait:
        raise Conflict("Nobody put this task on hold. See what it waits for.")
    # The pause would stay in force over it, and hold it again
    if all(map(is_hold_by_pause, flatten_holds(token.wait))):
        raise Conflict("It is paused. Resume what is paused.")
    # What it waits for would hold it again as soon as it begins
    if any(map(is_hold_by_dependency, flatten_holds(token.wait))):
        drop_open_dependencies(batch, task, user)
    release_matching_holds(batch, task, token, Actor.person(user), _may_person_release, trigger="release")
    batch.flush()
    return task


def _may_person_release(wait: dict[str, Any]) -> bool:
    return "paused_by" not in wait and not is_hold_by_pause(wait)


def cancel(task_id: int, *, actor: Actor, reason: str = "") -> Task:
    """End the task and everything that is open in it; never routed (law §5). Raises NotFound, Conflict."""
    return run_in_transaction(partial(_cancel, task_id, actor, payload.checked_text(reason, "reason")))


def _cancel(task_id: int, actor: Actor, reason: str) -> Task:
    batch, task = lock_batch_and_open_task(task_id)
    cancel_task(batch, task, actor, reason)
    batch.flush()
    return task


def lock_batch_and_open_task(task_id: int) -> tuple[Batch, Task]:
    """Return the batch and the task, locked. Raises NotFound, Conflict (it has ended)."""
    batch = Batch.of_tasks(task_id)
    task = batch.tasks.get(task_id)
    if task is None:
        raise NotFound()
    if task.status in ENDED:
        raise Conflict("This task has already ended.", at=task.ended_at)
    return batch, task


def lock_unchanged_token(token_id: int, token_version: int, statuses: tuple[str, ...]) -> LockedToken:
    """The token, read under its task's lock, if it has not changed since the person saw it."""
    locked = lock_token_if_it_is_left(token_id)
    # Law §7: a forked token is no position; what a person sees are its branches
    if (
        locked is None
        or locked.token.version != token_version
        or locked.token.status not in statuses
        or locked.token.forked
    ):
        raise Conflict("This task changed after you opened the page. Reload the page.")
    return locked
