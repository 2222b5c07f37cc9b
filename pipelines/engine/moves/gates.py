"""Opening gates: one visit for each gate that a decision asks, bound to what is shown (law §6). Below them visits and
their votes as the word of a person meets them, by statements that the server keeps."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, QuerySet, Subquery, UUIDField

from pipelines.engine.core import payload, sampling
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext
from pipelines.engine.core.due_times import GATE_DUE
from pipelines.engine.core.values import Actor
from pipelines.engine.core.working_time import WorkingTime
from pipelines.engine.moves import escalations, producers
from pipelines.engine.moves.entitlement import has_several_members
from pipelines.engine.moves.waiting import leave_token_waiting_or_stuck
from pipelines.engine.statements import DECIDE, LOG_DIGEST
from pipelines.errors import NotFound
from pipelines.models import UNKNOWN, Artifact, GateVisit, Job, Status, Task, Vote
from pipelines.models.plumbing.compiled_queries import (
    BoundQuery,
    Statement,
    execute_all_and_fetch,
    server_prepared,
)
from pipelines.models.plumbing.compiled_queries import fetch_bound as ask_together
from pipelines.ports import observers
from pipelines.routing.decide import transitions
from pipelines.routing.decide.approval import UNKNOWN_REQUESTER, UNPROVEN, approval_policy_with_extra_votes
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.decide.effects import Stay, gate_question
from pipelines.routing.document.line import Approval, DuePolicy, ParsedLine

SOON = ":soon"
"""Ends the key of the due time at which people are reminded before a gate is due."""


def approval_policy_of_visit(visit: GateVisit, line: ParsedLine) -> Approval:
    """Return the approval policy of this visit. `line`: the version under which it was asked."""
    return approval_policy_with_extra_votes(line.gate(visit.gate).approval, visit.producers)


def open_visits_of_gates_or_hold(context: DecisionContext, answer: Wait, where: Stay) -> None:
    """Make the token wait for people at every gate of the decision, asked together. If one of them was rejected and
    nothing has changed since, it is held instead, naming the rejection (law §6, last sentence)."""
    left = _read_job_results(context.job)
    evidence = [_gate_evidence(context, answer, key, left) for key in answer.gates]
    # A rule that leads back to the gate would else ask the same people the same question for ever
    rejection = _last_rejection_of_same_contents_or_none(
        left, answer.gates, [evidence_item["content"] for evidence_item in evidence]
    )
    if rejection:
        naming = {"visit": str(rejection.pk), "gate": rejection.gate, "reason": rejection.reason}
        leave_token_waiting_or_stuck(context, Status.HELD, {**where.wait, "rejection": naming})
        return
    # First: a visit is bound to the version of the token that it has while it waits.
    leave_token_waiting_or_stuck(context, where.status, where.wait)
    people = _people_behind_reviewed_work(context, left.by_hand)
    for position, (key, gate_evidence) in enumerate(zip(answer.gates, evidence, strict=True)):
        _open_visit(context, key, position, gate_evidence, people)


def _open_visit(
    context: DecisionContext, key: str, position: int, evidence: dict[str, Any], people: list[str]
) -> None:
    batch, task, token = context.batch, context.task, context.token
    gate = context.judging_line.gate(key)
    times = gate.due
    visit = GateVisit(
        id=uuid.uuid4(),
        task=task,
        token=token,
        job=context.job,
        asked_by=context.decision,
        gate=key,
        position=position,
        round=evidence["round"],
        token_version=token.version,
        evidence=evidence,
        # A vote names it, so that nobody decides about what has changed meanwhile (house §4)
        evidence_digest=payload.json_digest(evidence),
        producers=people,
        opened_at=batch.now,
        # law §6: set when the gate opens; a later change of the working time moves nothing.
        due_at=due_time_after(task, times, batch.now, times.after) if times and times.after else None,
    )
    batch.add_visit(visit)
    sampling.always_ask_about_change_from_now(visit, gate, context.job.outcome or {})
    if visit.due_at and times:
        batch.schedule_due_time(GATE_DUE, task, visit.due_at, key=str(visit.pk), visit=visit)
        if times.before:
            # From the start, not back from the due time: working time is counted forwards alone
            soon = due_time_after(task, times, batch.now, times.after - times.before)
            batch.schedule_due_time(GATE_DUE, task, soon, key=f"{visit.pk}{SOON}", visit=visit)
    batch.append_event(
        task,
        "gate.opened",
        context.actor,
        token=token,
        source=token.station,
        target=key,
        trigger=context.trigger,
        visit=str(visit.pk),
        round=visit.round,
        evidence_digest=visit.evidence_digest,
    )
    notify = tuple(gate.notify)
    batch.emit(
        observers.GateOpened(
            visit.pk, task.pk, task.project_id, key, visit.round, notify, visit.due_at, visit.opened_at
        )
    )


def due_time_after(task: Task, times: DuePolicy, start: datetime, seconds: float) -> datetime:
    """`seconds` after `start`, or so much working time of the project."""
    if times.business:
        return WorkingTime.of_project(task.project).end_after_working_seconds(start, float(seconds))
    return start + timedelta(seconds=float(seconds))


def _people_behind_reviewed_work(context: DecisionContext, hands: Iterable[producers.HandRow]) -> list[str]:
    """List everybody known who worked by hand on what is reviewed, or pushed to its branch (law §12, §15), also in the
    tasks that this one repeats; and for whom nobody vouches, of those or of who asked for it. In a project of one there
    is nobody else."""
    task = context.task
    people = [
        *producers.workers_of_retried_tasks(task),
        *producers.people_in_past_of_token(context.batch, task, context.token, hands),
    ]
    unknown = [UNKNOWN_REQUESTER] if UNKNOWN in task.requesters else []
    # Without a repository there is no branch to push to
    if context.judging_line.workspace:
        pushes = producers.pushes_to_branches_of_task_chain(task)
        known = pushes.filter(people__isnull=False).order_by("people").values_list("people", flat=True)
        people += [f"person:{pk}" for pk in known.distinct()]
        unknown += [UNPROVEN] if pushes.filter(by_host=False).exists() else []
    if unknown and not has_several_members(task.project_id):
        unknown = []
    return [*dict.fromkeys(people), *unknown]


@dataclass(frozen=True)
class _JobResults:
    """Results that a job left, as they are displayed, whether a gate of its task was decided before, and who
    worked in it."""

    job: Job
    artifacts: list[dict[str, Any]]
    log: str
    decided: bool
    by_hand: list[producers.HandRow]


def _read_job_results(job: Job) -> _JobResults:
    # In one round trip: a move waits for each of them
    found, [(log,)], decided, reported, answered = ask_together(
        _artifact_rows.bind(job=job.pk),
        BoundQuery(LOG_DIGEST, [job.pk, job.attempt]),
        _any_decided_visit_id_query.bind(task=job.task_id),
        producers.token_and_reporting_person_query.bind(task=job.task_id),
        producers.token_and_answering_person_query.bind(task=job.task_id),
    )
    artifacts = [{"name": name, "digest": digest, "size": size} for name, digest, size in found]
    return _JobResults(job, artifacts, log or "", bool(decided), [*reported, *answered])


def _gate_evidence(
    context: DecisionContext, answer: Wait, key: str, job_results: _JobResults
) -> dict[str, Any]:
    """Return what is displayed and voted on. `content` is the digest of what a run produced, without what
    differs from run to run: two visits with the same content ask the same question again."""
    task, job = context.task, context.job
    displayed = _content_displayed_at_gate(
        context.judging_line, context.token.station, answer, key, job_results
    )
    return {
        **displayed,
        "task": {"name": task.name, "title": task.title},
        "job": {"id": job.pk, "visit": job.visit, "attempt": job.attempt},
        "log": {"digest": job_results.log},
        "round": 1 + task.rounds.get(key, 0),
        # Without log, run and round, which differ each time although nothing was changed
        "content": payload.json_digest(displayed),
        **_facts_with_base_and_tree(job),
    }


def _facts_with_base_and_tree(job: Job) -> dict[str, Any]:
    """Return what was observed of the outcome: its facts, and the base and tree that they are about (law
    §15). Nothing for outcomes without facts."""
    facts = (job.outcome or {}).get("facts")
    if not isinstance(facts, dict) or not facts:
        return {}
    git = facts.get("git", {})
    trees = (members.get("source", {}).get("tree") for members in facts.values())
    return {"base": git.get("base", ""), "tree": next(filter(None, trees), ""), "facts": facts}


def _content_displayed_at_gate(
    line: ParsedLine, station: str, answer: Wait, key: str, job_results: _JobResults
) -> dict[str, Any]:
    outcome = job_results.job.outcome or {}
    displayed = gate_question(line, station, answer, key, outcome, payload.json_digest(outcome.get("output")))
    return {**displayed, "artifacts": job_results.artifacts}


@server_prepared(job=BigIntegerField())
def _artifact_rows(job: Any) -> QuerySet[Artifact, tuple[str, str, int]]:
    return Artifact.objects.filter(job=job).order_by("name").values_list("name", "blob_id", "blob__size")


def rejection_of_same_content_or_none(
    line: ParsedLine, station: str, job: Job, answer: Wait
) -> GateVisit | None:
    """Return the rejection that would hold a token here, instead of asking the same again; None if there is
    none."""
    left = _read_job_results(job)
    contents = [
        payload.json_digest(_content_displayed_at_gate(line, station, answer, key, left))
        for key in answer.gates
    ]
    return _last_rejection_of_same_contents_or_none(left, answer.gates, contents)


def _last_rejection_of_same_contents_or_none(
    job_results: _JobResults, gates: Sequence[str], contents: Sequence[str]
) -> GateVisit | None:
    """The rejection of one of these gates, if it was the last decision there and its subject has not changed."""
    if not job_results.decided:
        return None
    decided = GateVisit.objects.filter(
        task=job_results.job.task_id, gate__in=gates, state=GateVisit.State.DECIDED
    )
    # Later ones replace earlier ones: of each gate its last decision counts
    last = {visit.gate: visit for visit in decided.order_by("decided_at")}
    verdicts = {key: (visit.word, visit.evidence["content"]) for key, visit in last.items()}
    return last.get(
        transitions.gate_that_rejected_same_content_or_empty(
            verdicts, dict(zip(gates, contents, strict=True))
        )
    )


@server_prepared(task=BigIntegerField())
def _any_decided_visit_id_query(task: Any) -> QuerySet[GateVisit, uuid.UUID]:
    """Return one decided visit of the task at any gate, if there is one."""
    decided = GateVisit.objects.filter(task=task, state=GateVisit.State.DECIDED)
    # Most tasks have none, and then no evidence has to be read
    return decided.values_list("pk", flat=True)[:1]


def get_visit_with_context(visit_id: UUID) -> GateVisit:
    """Return the visit with its job, the decision that asked it and whoever decided it. Raises NotFound."""
    return visit_with_id(visit_id, visits_asked_together(visit=visit_id))


def visit_with_id(visit_id: UUID, visits: Sequence[GateVisit]) -> GateVisit:
    """Return the visit with this id among those read together. Raises NotFound."""
    for visit in visits:
        if visit.pk == visit_id:
            return visit
    raise NotFound()


@server_prepared(visit=UUIDField())
def visits_asked_together(visit: Any) -> QuerySet[GateVisit, GateVisit]:
    """Return the visit and the others that its decision asked, in order: each with its job, that decision and
    whoever decided it."""
    decisions = GateVisit.objects.filter(pk=visit).values("asked_by")
    together = GateVisit.objects.filter(asked_by=Subquery(decisions))
    return together.select_related("job", "asked_by", "decided_by").order_by("position")


@server_prepared(visit=UUIDField())
def votes_of_visit(visit: Any) -> QuerySet[Vote, Vote]:
    """Return the votes in their order, with whoever cast them."""
    return Vote.objects.filter(visit=visit).select_related("user").order_by("pk")


def store_visit_decision_if_unchanged(
    visit: GateVisit, decided: Mapping[str, Any], token_version: int
) -> bool:
    """Compare and swap: a visit is decided once (house §4). `decided`: all of its columns that change but its state;
    the visit has them then, too. False: it was open no more, or at another version of the token."""
    by = decided["decided_by"]
    decision_values = [decided["word"], decided["route"], decided["reason"], by.pk if by else None]
    moment = [decided["decided_at"], decided["overridden"], visit.pk, token_version]
    [updated] = execute_all_and_fetch([Statement(DECIDE, [*decision_values, *moment])])
    if updated:
        visit.state = GateVisit.State.DECIDED
        for name, value in decided.items():
            setattr(visit, name, value)
    return bool(updated)


def drop_visit_due_times(batch: Batch, task: Task, visit: GateVisit) -> None:
    """Drop the due times of a visit that is over."""
    for key in (str(visit.pk), f"{visit.pk}{SOON}"):
        batch.drop_due_time(GATE_DUE, task, key)


def close_visit(batch: Batch, task: Task, visit: GateVisit, actor: Actor | str, why: str) -> None:
    """Close a gate visit without a decision."""
    visit.state, visit.decided_at = GateVisit.State.CLOSED, batch.now
    # One that was opened in this transaction is written at its end.
    if not visit._state.adding:
        visit.save(update_fields=["state", "decided_at"])
    drop_visit_due_times(batch, task, visit)
    escalations.close_escalations_of_visit(batch, task, visit, actor)
    batch.append_event(
        task, "gate.closed", actor, source=visit.gate, target=visit.gate, trigger=why, visit=str(visit.pk)
    )
    batch.emit(observers.GateClosed(visit.pk, task.pk, why, batch.now))
