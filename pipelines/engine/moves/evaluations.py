"""Questions that a decision asks before it can be made: each a job of its own, run once per visit and question (law
§3, agentic and hook; ALP A25 to A28).

The token is `evaluating` in the meantime. The outcome of that job is a fact, and the same situation is decided again
with it. Anything that is not an answer becomes the fact `unanswered`, which blocks the token for a person: nothing
advances silently.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext, facts_of_task_without_votes
from pipelines.engine.core.values import Actor, job_fields_for_event, token_fields_for_event
from pipelines.engine.moves.job_creation import create_question_job
from pipelines.engine.moves.waiting import leave_token_waiting_or_stuck
from pipelines.models import Decision, Job, Purpose, Status, Task, Token
from pipelines.ports import leases, observers
from pipelines.ports.leases import WorkOffer
from pipelines.queries import versions
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Ask, Wait
from pipelines.routing.document.evaluations import MACHINES, PERSON, evaluator_that_answers
from pipelines.routing.document.gate_tools import KIND

UNTAKEN = "evaluation"
"""The kind of due time that checks whether a machine can still answer; its key is the job's."""
PATIENCE = timedelta(minutes=5)


def create_question_job_or_ask_person(context: DecisionContext, answer: Ask) -> None:
    """Open the job that answers or, if only a person can, block the token."""
    question = dict(answer.evaluation)
    by = _item_kind_that_answers(context.task, question)
    # law §12: without an evaluator a question blocks at once for a person.
    if by == PERSON:
        where = effects.stay_of_decision(answer)
        leave_token_waiting_or_stuck(context, where.status, where.wait)
        return
    batch, task, token = context.batch, context.task, context.token
    assert context.decision is not None
    token.status, token.error = Status.EVALUATING, ""
    token.wait = {"evaluation": question, "evaluator": by, "decision": str(context.decision.pk)}
    job = create_question_job(
        context, Purpose.CHECK if KIND in question else Purpose.EVALUATION, by, question
    )
    if by in MACHINES:
        schedule_check_for_machines(batch, task, job)
    batch.mark_token_changed(token)
    batch.append_event(
        task,
        "evaluation.asked",
        context.actor,
        token=token,
        source=token.station,
        target=token.station,
        trigger=context.trigger,
        decision=context.decision,
        tokens=[token_fields_for_event(token)],
        job=job_fields_for_event(job),
        question=question,
        evaluator=by,
    )
    batch.emit(observers.TaskWaits(task.pk, token.pk, token.status, "", batch.now))


def schedule_check_for_machines(batch: Batch, task: Task, job: Job) -> None:
    """Check again later: the machines that could answer may be gone by then."""
    batch.schedule_due_time(UNTAKEN, task, batch.now + PATIENCE, key=str(job.pk), job=job)


def _item_kind_that_answers(task: Task, question: dict[str, Any]) -> str:
    """Return what answers the question. Code always runs on a worker; any other question needs a worker that
    can answer it, otherwise a person."""
    if "agentic" not in question:
        return next(iter(question))
    return evaluator_that_answers(
        question, leases.evaluations_live_workers_can_answer(task.project.owner.key, task.project_id)
    )


def context_and_situation_after_answer_job(
    batch: Batch, job: Job, by: Actor | str, cause: str, offer: WorkOffer | None = None
) -> tuple[DecisionContext, dict[str, Any]]:
    """The decision context and situation after the job of a question has its outcome."""
    assert job.question is not None and job.outcome is not None
    answer = effects.fact_of_question_outcome(
        versions.parsed_line_by_version_id(job.pinned_id), job.question, job.outcome
    )
    return context_and_situation_with_answer(batch, batch.tokens[job.token_id], by, cause, answer, job, offer)


def context_and_situation_with_answer(
    batch: Batch,
    token: Token,
    by: Actor | str,
    cause: str,
    answer: dict[str, Any],
    job: Job | None = None,
    offer: WorkOffer | None = None,
) -> tuple[DecisionContext, dict[str, Any]]:
    """The situation of the question plus the answer, under the version that asked. Step 7 reads current facts,
    including what other branches have spent and escalated since. `job`: the one that answered, if any."""
    task, decision = batch.tasks[token.task_id], Decision.objects.get(pk=token.wait["decision"])
    batch.append_event(
        task,
        "evaluation.answered",
        by,
        token=token,
        source=token.station,
        trigger=cause,
        answer=answer,
        job=job_fields_for_event(job) if job else None,
    )
    # An earlier transaction recorded it, and of what is done a batch loads only what is reported
    about = Job.objects.get(pk=decision.job_id)
    context = DecisionContext(
        batch,
        task,
        token,
        about,
        by,
        cause,
        cause,
        offer=offer,
        other_judge_version_id=decision.pinned_id,
        lease_holder=job,
    )
    # law §12: the frozen situation plus the answer; only step 7 reads the counts of the moment.
    facts = effects.facts_with_answer(
        decision.situation["facts"], facts_of_task_without_votes(context), answer
    )
    return context, {**decision.situation, "facts": facts}


def reason_machine_did_not_answer(context: DecisionContext, answer: Wait) -> str:
    """Return why the machine that was asked first did not answer, for the person asked next."""
    if answer.evaluation is None or context.decision is None:
        return ""
    answers = context.decision.situation["facts"].get("answers", [])
    return next(
        (
            str(entry.get("text", ""))
            for entry in reversed(answers)
            if _is_entry_about_question(entry, answer)
        ),
        "",
    )


def _is_entry_about_question(entry: dict[str, Any], answer: Wait) -> bool:
    return all(entry.get(kind) == value for kind, value in (answer.evaluation or {}).items())
