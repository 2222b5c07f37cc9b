"""The decision that a report would bring about at this moment: made as the report would make it, and taken back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from django.db import transaction

from pipelines.engine.commands import fence
from pipelines.engine.commands.report import CheckedReport, checked_report_or_refusal, outcome_with_observers
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    situation_with_current_facts,
    situation_without_samples,
)
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Report
from pipelines.engine.moves.completion import store_outcome_and_end_job
from pipelines.errors import Conflict, Invalid
from pipelines.models import Purpose
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import DecisionAnswer
from pipelines.routing.decide.situation import Situation, situation_from_engine
from pipelines.routing.document.line import ParsedLine

CAUSE = "preview"


@dataclass(frozen=True)
class ReportPreview:
    """Decision about a report, with what it read. `line`: the version that judges."""

    line: ParsedLine
    situation: Situation
    decision: DecisionAnswer


def preview_report(job_report: Report) -> ReportPreview:
    """Return what `report` would decide. Nothing is written, and nothing is drawn: at a gate that asks about a sample
    people are asked, so that nobody learns before the report whether they will be (law §15).

    :raises Conflict: the attempt is over; Invalid: the outcome is none"""
    return run_in_transaction(partial(_previewed_and_rolled_back, job_report))


def _previewed_and_rolled_back(job_report: Report) -> ReportPreview:
    member = checked_report_or_refusal(job_report, {})
    # What a report may be is checked before anything is locked
    if not isinstance(member, CheckedReport):
        raise Invalid.at(member.path, member.detail)
    with transaction.atomic():
        # Under the same lock and by the same steps as the report, so that the answer is what would be decided
        preview = _preview_by_recording(Batch.of_jobs([job_report.job_id]), member)
        transaction.set_rollback(True)
    return preview


def _preview_by_recording(batch: Batch, member: CheckedReport) -> ReportPreview:
    refusal = fence.refusal_or_repeated_answer_or_none(batch, member.report, member.digest)
    if refusal is not None:
        raise Conflict(refusal.detail)
    job = batch.jobs[member.report.job_id]
    # An evaluation and a check have leases, too
    if job.purpose != Purpose.STATION:
        raise Conflict("This job answers a question, and decides nothing.")
    by = member.report.by
    # Over before it is decided: its place at an agent counts as free
    store_outcome_and_end_job(batch, job, outcome_with_observers(member, job), by)
    context = DecisionContext(
        batch, batch.tasks[job.task_id], batch.tokens[job.token_id], job, by, CAUSE, CAUSE
    )
    situation = situation_from_engine(
        situation_with_current_facts(context, situation_without_samples(context))
    )
    return ReportPreview(context.judging_line, situation, decide(context.judging_line, situation))
