"""What calls of one project answer that bring reports, each as by itself: one statement looks up their tokens, one
their runners and jobs, one transaction records them. Which calls go together: `runner_calls.py`."""

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
from pipelines.work.runners import reported, reports
from pipelines.work.runners.presence import claim_of
from pipelines.work.runners.reported import Reported, Reporter
from pipelines.work.runners.reports import Told
from pipelines.work.transport.protocol import ReportAnswer

NOT_ITS: Final = ReportAnswer("not_found")


class TokenOutOfForce(Exception):
    """The token of this call is not in force any more."""


class RunnerUnknown(Exception):
    """Its runner never registered with this token."""


Refusal: TypeAlias = TokenOutOfForce | RunnerUnknown | Invalid
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
class Faulty:
    """One that cannot be read, and why: told to those alone whose job it is."""

    job: int
    fault: Invalid


@dataclass(frozen=True)
class ReportCall:
    """What one request brings. `fault`: it cannot be read at all."""

    secret: str = field(repr=False)
    runner: uuid.UUID
    said: tuple[SentReport | Faulty, ...]
    fault: Invalid | None = None


@sensitive_variables("tokens")
def answer(project: int, calls: Sequence[ReportCall]) -> list[Answered]:
    """Each in its place; what is refused of one is a value, and keeps no other from being answered."""
    tokens = accounts.runners({call.secret for call in calls}, timezone.now())
    known = _known(project, calls, tokens)
    found: list[list[Told | ReportAnswer] | Refusal] = [
        _told(call, its, call.secret in tokens) for call, its in zip(calls, known, strict=True)
    ]
    told = [each for one in found if isinstance(one, list) for each in one if isinstance(each, Told)]
    answers = iter(reports.report(told) if told else ())
    return [
        [next(answers) if isinstance(each, Told) else each for each in one] if isinstance(one, list) else one
        for one in found
    ]


def _known(
    project: int, calls: Sequence[ReportCall], tokens: Mapping[str, ApiToken]
) -> list[Reported | None]:
    """What each is judged by; None of one whose token is not in force, or whose runner is not known."""
    asked = {
        at: Reporter(tokens[call.secret], call.runner, {each.job for each in call.said})
        for at, call in enumerate(calls)
        if call.secret in tokens and tokens[call.secret].project_id == project and call.fault is None
    }
    found = dict(zip(asked, reported.read(project, list(asked.values())), strict=True)) if asked else {}
    return [found.get(at) for at in range(len(calls))]


def _told(call: ReportCall, known: Reported | None, in_force: bool) -> list[Told | ReportAnswer] | Refusal:
    if not in_force:
        return TokenOutOfForce()
    if call.fault is not None:
        return call.fault
    if known is None:
        return RunnerUnknown()
    its = [each for each in call.said if each.job in known.jobs]
    for each in its:
        if isinstance(each, Faulty):
            return each.fault
    more = None if known.runner.stopping else claim_of(known.runner)
    return [
        Told(
            known, known.jobs[each.job], each.attempt, each.lease, each.outcome, more if each.go_on else None
        )
        if isinstance(each, SentReport) and each.job in known.jobs
        else NOT_ITS
        for each in call.said
    ]
