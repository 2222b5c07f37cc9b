"""Record the outcomes of jobs, up to fifty tasks in one transaction (house §2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import OperationalError

from pipelines.engine.commands import fence
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    outcome_judged_by_its_facts,
    situation_with_drawn_samples,
)
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Report, ReportResult, job_fields_for_event
from pipelines.engine.moves import decision_application, evaluations, pass_through
from pipelines.engine.moves.completion import store_outcome_and_end_job
from pipelines.errors import Invalid
from pipelines.models import Job, Purpose, Task, Token
from pipelines.routing.basics.facts import facts_with_source, outcome_with_facts_as_claims
from pipelines.routing.basics.outcome import Outcome, OutcomeError, derived_outcome, is_signal, read_outcome

LARGEST_BATCH = 50
# What says the same each time says little (`noop`); of other outcomes a key would hardly be met again
SHORT, LONGEST_KEY = 4, 200
log = structlog.get_logger(__name__)

OutcomeKey = tuple[tuple[Any, Any], ...]
Known = dict[OutcomeKey, tuple[str, Outcome]]


@dataclass(frozen=True)
class CheckedReport:
    """A report with a well-formed payload. `kept`: the outcome as it is recorded."""

    report: Report
    digest: str
    outcome: Outcome
    kept: dict[str, Any]


def report(reports: Sequence[Report]) -> list[ReportResult]:
    """Record outcomes and move their tasks; one result per report, in their order.

    A refused member is returned as a value and does not affect the others; members of one task apply in order. An
    unexpected error rolls the batch back and its members are replayed one by one, so that only the faulty one answers
    `error`. For a single report the error is raised.
    """
    results: list[ReportResult] = []
    for start in range(0, len(reports), LARGEST_BATCH):
        results += _record_chunk(reports[start : start + LARGEST_BATCH])
    return results


def _record_chunk(chunk: Sequence[Report]) -> list[ReportResult]:
    passing_through = settings.PASS_THROUGH
    # Alone there is no other member to protect from its error
    if len(chunk) == 1 and not passing_through:
        return run_in_transaction(partial(_record_together, chunk))
    try:
        return run_in_transaction(partial(_record_together, chunk, passing_through=passing_through))
    except Exception as error:
        # The database is away or busy, which no station that was passed through is to blame for.
        if len(chunk) == 1 and isinstance(error, OperationalError):
            raise
        log.exception("batch_rolled_back", members=len(chunk))
        return _record_one_by_one(chunk)


def _record_one_by_one(chunk: Sequence[Report]) -> list[ReportResult]:
    """An error of one member must not affect the others (house §2); replayed alone, each reports its own. And an error
    at a station that would be passed through must not lose what was reported of the one before."""
    return (
        run_in_transaction(partial(_record_together, chunk))
        if len(chunk) == 1
        else [_record_alone(job_report) for job_report in chunk]
    )


def _record_alone(job_report: Report) -> ReportResult:
    try:
        return run_in_transaction(partial(_record_together, [job_report]))[0]
    except Exception:
        log.exception("report_failed", job=job_report.job_id)
        return ReportResult("error", 500, "Something unexpected happened; nothing was changed.")


def _record_together(chunk: Sequence[Report], *, passing_through: bool = False) -> list[ReportResult]:
    known: Known = {}
    # Read and checked before the tasks are locked
    members = [checked_report_or_refusal(job_report, known) for job_report in chunk]
    batch = Batch.of_jobs(job_report.job_id for job_report in chunk)
    results: list[ReportResult] = []
    ignored = []
    for member in members:
        if isinstance(member, ReportResult):
            results.append(member)
            continue
        # law §5 step 1: fence
        refusal = fence.refusal_or_repeated_answer_or_none(batch, member.report, member.digest)
        # Of a repeat there is the record already, and what names no job has no task to be kept with
        if refusal and refusal.status in ("conflict", "ignored"):
            ignored.append((member.report, member.digest))
        results.append(refusal or record_outcome_and_move(batch, member))
    fence.record_ignored_reports(batch, ignored)
    if passing_through:
        _report_stations_that_do_nothing(batch, chunk, results, known)
    batch.flush()
    return results


def _report_stations_that_do_nothing(
    batch: Batch, chunk: Sequence[Report], results: list[ReportResult], known: Known
) -> None:
    """Record what comes next wherever that does nothing, station after station. The answer to a report then names where
    its task has come to, so that its worker goes on from there."""
    going = {place: chunk[place] for place, result in enumerate(results) if result.status == "accepted"}
    for _station in range(pass_through.MOST):
        coming = {
            place: pass_through.report_if_job_does_nothing(batch, before, results[place].following)
            for place, before in going.items()
        }
        going = {place: next_report for place, next_report in coming.items() if next_report is not None}
        if not going:
            return
        # house §2: `now` grows by a microsecond a station, so that the events keep their order.
        batch.advance_clock_by_tick()
        for place, next_report in going.items():
            member = checked_report_or_refusal(next_report, known)
            assert isinstance(member, CheckedReport)
            result = record_outcome_and_move(batch, member)
            # The decision stays that of the report; what follows is that of the last station.
            results[place] = replace(result, decision=results[place].decision)
            batch.jobs[chunk[place].job_id].report_answer = fence.answer_to_store(results[place])


def checked_report_or_refusal(job_report: Report, known: Known) -> CheckedReport | ReportResult:
    """`known`: what was read of the batch. Work that does nothing says the same each time."""
    try:
        _check_job_and_attempt_in_range(job_report)
        # law §13: facts that Gateline did not observe are kept as a claim.
        stored_outcome = (
            job_report.outcome if job_report.observed_by else outcome_with_facts_as_claims(job_report.outcome)
        )
        key = _hashable_short_outcome_or_none(stored_outcome) if job_report.observed_by else None
        if key is not None and key in known:
            return CheckedReport(job_report, *known[key], stored_outcome)
        outcome = read_outcome(stored_outcome, "outcome")
        _check_exit_code(outcome)
        # Of what was sent, by which the fence knows an identical repeat
        digest = payload.checked_digest(job_report.outcome, "outcome")
        if key is not None:
            known[key] = (digest, outcome)
        return CheckedReport(job_report, digest, outcome, stored_outcome)
    except Invalid as fault:
        return ReportResult("invalid", 400, fault.message, fault.path)
    except OutcomeError as fault:
        return ReportResult("invalid", 400, fault.message, fault.path)


def _hashable_short_outcome_or_none(outcome: Any) -> OutcomeKey | None:
    """A short outcome of nothing but texts, as a key; None of any other."""
    if type(outcome) is not dict or len(outcome) > SHORT:
        return None
    if not all(type(value) is str and len(value) <= LONGEST_KEY for value in outcome.values()):
        return None
    return tuple(outcome.items())


def outcome_with_observers(member: CheckedReport, job: Job) -> dict[str, Any]:
    """The outcome as received, with the observer of each group of facts (law §13)."""
    facts = member.outcome.facts
    if not facts:
        return member.kept
    by = member.report.observed_by or member.report.by
    source = {"station": job.station, "visit": job.visit, "observed_by": by}
    return {**member.kept, "facts": facts_with_source(facts, source)}


def _check_job_and_attempt_in_range(job_report: Report) -> None:
    if not 0 < job_report.job_id < 2**63:
        raise Invalid.at("job", "not the number of a job")
    if not 0 < job_report.attempt < 2**31:
        raise Invalid.at("attempt", "not the number of an attempt")


def _check_exit_code(outcome: Outcome) -> None:
    # The column has 32 bits: a larger number would roll back the batch of all who report with it
    if outcome.exit_code is not None and abs(outcome.exit_code) >= 2**31:
        raise Invalid.at("outcome.exit_code", "is not an exit code")


def record_outcome_and_move(batch: Batch, member: CheckedReport) -> ReportResult:
    """Steps 2 to 9 of law §5 for one outcome."""
    job_report, job = member.report, batch.jobs[member.report.job_id]
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    # law §5 step 2: record
    # Over before it is decided: what goes on at the same agent takes the place that becomes free
    store_outcome_and_end_job(batch, job, outcome_with_observers(member, job), job_report.by)
    _store_outcome_fields_for_lists(job, member.outcome)
    job.report_digest = member.digest
    # Of one attempt: a cause makes at most one decision (house §3 I4)
    cause = f"report:{job.pk}.{job.attempt}"
    batch.append_event(
        task,
        "job.reported",
        job_report.by,
        token=token,
        source=job.station,
        target=job.station,
        trigger=cause,
        job=job_fields_for_event(job),
        outcome={"result": job.result, "exit_code": job.exit_code, "digest": job.report_digest},
    )
    _record_signals_with_unknown_verdict(batch, task, token, job, member, cause)
    if job.purpose == Purpose.STATION:
        # Facts got their source since.
        parsed_outcome = None if member.outcome.facts else member.outcome
        context = DecisionContext(
            batch,
            task,
            token,
            job,
            job_report.by,
            cause,
            cause,
            job_report.offer_for_next,
            parsed_outcome=parsed_outcome,
        )
        situation = situation_with_drawn_samples(context)
    else:
        context, situation = evaluations.context_and_situation_after_answer_job(
            batch, job, job_report.by, cause, job_report.offer_for_next
        )
    # law §5 steps 3 to 8: decide
    answer = decide_and_store_decision(context, situation)
    # law §5 step 9: effects
    decision_application.apply_decision(context, answer)
    result = _accepted_result(batch, context, answer)
    job.report_answer = fence.answer_to_store(result)
    return result


def _record_signals_with_unknown_verdict(
    batch: Batch, task: Task, token: Token, job: Job, member: CheckedReport, cause: str
) -> None:
    """Emit an event for each signal with an unknown verdict. It is recorded with the outcome and decides nothing
    (D20)."""
    faulty = [
        signal.get("verdict") for signal in member.outcome.signals if not is_signal(signal.get("verdict"))
    ]
    if not faulty:
        return
    batch.append_event(
        task,
        "signal.ignored",
        member.report.by,
        token=token,
        source=job.station,
        target=job.station,
        trigger=cause,
        error="InvalidSignal",
        verdicts=[str(verdict)[:100] for verdict in faulty[:10]],
        signals=len(faulty),
    )


def _store_outcome_fields_for_lists(job: Job, outcome: Outcome) -> None:
    """Store what lists show of an outcome, so that they need not read it."""
    judged = outcome_judged_by_its_facts(job, outcome) if job.purpose == Purpose.STATION else outcome
    job.result, job.exit_code = derived_outcome(judged).result, outcome.exit_code
    # Lists show the beginning, and the outcome keeps the whole
    job.summary = (outcome.summary or _joined_blocker_titles(outcome.blockers))[:2000]


def _joined_blocker_titles(blockers: Sequence[Any]) -> str:
    """The titles of what blocks the station, for outcomes without a summary."""
    titles = (
        blocker.get("title") or blocker.get("description") if isinstance(blocker, dict) else blocker
        for blocker in blockers
    )
    return "; ".join(str(title) for title in titles if title)


def _accepted_result(batch: Batch, context: DecisionContext, answer: Any) -> ReportResult:
    # House §2: after a fork or a join its worker goes on with the job of another token
    following = batch.open_job_that_got_lease_of_or_none(
        context.job_whose_worker_reported
    ) or batch.open_job_or_none(context.token)
    return ReportResult(
        "accepted",
        200,
        decision=answer.kind,
        next_job_id=following.pk if following else None,
        next_lease=following.lease_key if following else None,
        following=following,
    )
