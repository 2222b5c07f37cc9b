"""Answers to calls of one project that bring reports, each as by itself: one statement looks up their tokens,
one their runners and jobs, one transaction records them. Which calls go together: `runner_calls.py`."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from pipelines.errors import Invalid
from pipelines.models import ApiToken
from pipelines.people import accounts
from pipelines.work.runners import report_facts, reports
from pipelines.work.runners.presence import runner_offer
from pipelines.work.runners.report_facts import ReportingRunner, ReportingRunnerFacts
from pipelines.work.runners.reports import RunnerReport
from pipelines.work.transport.protocol import ReportAnswer

NOT_ITS: Final = ReportAnswer("not_found")


class TokenInvalid(Exception):
    """The token of this call is not in force any more."""


class RunnerUnknown(Exception):
    """Its runner never registered with this token."""


Refusal: TypeAlias = TokenInvalid | RunnerUnknown | Invalid
Answered: TypeAlias = list[ReportAnswer] | Refusal
"""One answer for each report, or why the call is refused."""


@dataclass(frozen=True)
class SentReport:
    """A report as it was sent. `go_on`: the runner would take the next job of the same task."""

    job: int
    lease: uuid.UUID
    attempt: int
    outcome: dict[str, Any]
    go_on: bool


@dataclass(frozen=True)
class FaultyReport:
    """Report that cannot be read, and why: returned only to the caller whose job it is."""

    job: int
    fault: Invalid


@dataclass(frozen=True)
class ReportCall:
    """Request that brings reports. `fault`: it cannot be read at all."""

    secret: str = field(repr=False)
    runner: uuid.UUID
    reports: tuple[SentReport | FaultyReport, ...]
    fault: Invalid | None = None


# Its keys are the secrets, and Django's report of an error shows what variables held
@sensitive_variables("tokens")
def check_and_deliver_calls(project: int, calls: Sequence[ReportCall]) -> list[Answered]:
    """Return the answers, each in its place; a refusal is a value, and prevents no other call from being
    answered."""
    tokens = accounts.runner_token_by_secret({call.secret for call in calls}, timezone.now())
    facts_by_call = _facts_for_each_call(project, calls, tokens)
    checked: list[list[RunnerReport | ReportAnswer] | Refusal] = [
        _checked_reports(call, its, tokens.get(call.secret))
        for call, its in zip(calls, facts_by_call, strict=True)
    ]
    deliverable = [
        entry for one in checked if isinstance(one, list) for entry in one if isinstance(entry, RunnerReport)
    ]
    answers = iter(reports.deliver_runner_reports(deliverable) if deliverable else ())
    return [
        [next(answers) if isinstance(entry, RunnerReport) else entry for entry in one]
        if isinstance(one, list)
        else one
        for one in checked
    ]


def _facts_for_each_call(
    project: int, calls: Sequence[ReportCall], tokens: Mapping[str, ApiToken]
) -> list[ReportingRunnerFacts | None]:
    """Return what each call is judged by; None for one whose token is not in force, or whose runner is not
    known."""
    reporters = {
        at: ReportingRunner(tokens[call.secret], call.runner, {report.job for report in call.reports})
        for at, call in enumerate(calls)
        # The remembered project only says who goes together: what a token opens, its own row says
        if call.secret in tokens and tokens[call.secret].project_id == project and call.fault is None
    }
    reported_by_call = (
        dict(
            zip(
                reporters,
                report_facts.read_facts_of_reporting_runners(project, list(reporters.values())),
                strict=True,
            )
        )
        if reporters
        else {}
    )
    return [reported_by_call.get(at) for at in range(len(calls))]


def _checked_reports(
    call: ReportCall, facts: ReportingRunnerFacts | None, token: ApiToken | None
) -> list[RunnerReport | ReportAnswer] | Refusal:
    # Before all else: without a token in force nobody is told what is wrong with a call.
    if token is None:
        return TokenInvalid()
    if call.fault is not None:
        return call.fault
    if facts is None:
        return RunnerUnknown()
    its = [report for report in call.reports if report.job in facts.jobs]
    for report in its:
        if isinstance(report, FaultyReport):
            return report.fault
    # A drained runner ends what it has, and is handed nothing new; nor is one of a single job (docs/runners.md)
    takes_more = not facts.runner.stopping and token.only_job_id is None
    next_job_claim = runner_offer(facts.runner) if takes_more else None
    return [
        RunnerReport(
            facts,
            facts.jobs[report.job],
            report.attempt,
            report.lease,
            report.outcome,
            next_job_claim if report.go_on else None,
        )
        if isinstance(report, SentReport) and report.job in facts.jobs
        else NOT_ITS
        for report in call.reports
    ]
