"""Calls with reports, by one path: alone in their operation (runners.py), or together with others of their project,
without a thread and an operation for each (config/request_handler.py). What is malformed, and what is refused of one,
is told here as well, to those alone whose token is in force."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from ninja.errors import HttpError
from ninja.responses import NinjaJSONEncoder

from pipelines.api import runner_bodies as bodies
from pipelines.api import runner_reports
from pipelines.api.auth import cached_project_id_or_none
from pipelines.api.runner_reports import NOT_ITS, ReportCall, RunnerUnknown
from pipelines.errors import Invalid, NotFound
from pipelines.routing.document.kinds import is_instant
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.protocol import ReportAnswer

SHORT: Final = 64 * 1024
"""Bytes of a body that are read before it is known whether its token is in force still, and on the event loop."""
_ID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
LEASE: Final = re.compile(_ID)
# Any number of 18 digits fits a bigint, so no address makes the query behind it fail
ADDRESS: Final = re.compile(rf"/api/(?:v1/)?runner/({_ID})/(?:jobs/([1-9][0-9]{{0,17}})/report|reports)")
BEARER: Final = "Bearer "


@dataclass(frozen=True)
class SentCall:
    """`project`: that of its token when it was last in force; `has_one_report`: its address names one job, and its
    answer is that of one report."""

    project: int
    has_one_report: bool
    report_call: ReportCall

    @property
    def job_ids(self) -> list[int]:
        return [report.job for report in self.report_call.reports]


@dataclass(frozen=True)
class CallAnswer:
    """`instant`: the jobs that it hands out and that take no time."""

    response: HttpResponse
    instant: frozenset[int]


def read_short_call_or_none(request: HttpRequest) -> SentCall | None:
    """Return a call that may go together with others: it is not long, and its token was in force when it was
    last looked at. Queries no database."""
    match = ADDRESS.fullmatch(request.path_info)
    secret = request.META.get("HTTP_AUTHORIZATION", "")
    if match is None or not secret.startswith(BEARER) or not _is_short(request):
        return None
    secret = secret.removeprefix(BEARER)
    project, runner = cached_project_id_or_none(secret), uuid.UUID(match[1])
    lease = LEASE.fullmatch(request.headers.get(wire_format.LEASE, "")) if match[2] else None
    # A report about one job has its lease in the header; several have theirs in the body.
    # Nor does one go with others whose token nobody has looked at: alone, wrong ones are counted
    if project is None or (lease is None) == (match[2] is not None):
        return None
    return read_call(
        request, secret, project, runner, (int(match[2]), uuid.UUID(lease[0])) if lease else None
    )


def read_call(
    request: HttpRequest,
    secret: str,
    project: int,
    runner: uuid.UUID,
    job_and_lease: tuple[int, uuid.UUID] | None,
) -> SentCall:
    """`project`: that of its token; `job_and_lease`: the job and the lease that it alone is about."""
    try:
        reports = (
            bodies.read_reports(request)
            if job_and_lease is None
            else (bodies.read_single_report(request, *job_and_lease),)
        )
    except Invalid as error:
        return SentCall(project, job_and_lease is not None, ReportCall(secret, runner, (), error))
    return SentCall(project, job_and_lease is not None, ReportCall(secret, runner, reports))


def _is_short(request: HttpRequest) -> bool:
    size = request.META.get("CONTENT_LENGTH") or ""
    # Its length before its value: int() raises for a text of more than 4,300 digits
    return size.isdecimal() and len(size) < 10 and int(size) <= SHORT


def http_answers_of_calls(calls: Sequence[SentCall]) -> list[CallAnswer | Exception]:
    """Return for calls of one project, each in its place, the answer, or why the call is refused."""
    answers = runner_reports.check_and_deliver_calls(calls[0].project, [call.report_call for call in calls])
    return [_call_answer(call, call_answer) for call, call_answer in zip(calls, answers, strict=True)]


def _call_answer(call: SentCall, answers: runner_reports.Answered) -> CallAnswer | Exception:
    if isinstance(answers, RunnerUnknown):
        return NotFound("This runner is not registered.")
    if isinstance(answers, Exception):
        return answers
    if not call.has_one_report:
        return CallAnswer(
            json_response({"answers": [wire_format.answer_json(report_answer) for report_answer in answers]}),
            _ids_of_following_instant_jobs(answers),
        )
    (answer,) = answers
    # As of an id that nobody has: a runner learns nothing of the jobs of others
    if answer.status == NOT_ITS.status:
        return NotFound()
    if answer.status == "error":
        return HttpError(503, answer.detail)
    return CallAnswer(json_response(wire_format.answer_json(answer)), _ids_of_following_instant_jobs(answers))


def _ids_of_following_instant_jobs(answers: Sequence[ReportAnswer]) -> frozenset[int]:
    following = (
        report_answer.following.orders for report_answer in answers if report_answer.following is not None
    )
    return frozenset(orders.job_id for orders in following if is_instant(orders.kind))


def json_response(document: dict[str, Any]) -> HttpResponse:
    """Return a JSON response, without the validation of every value by the library."""
    return HttpResponse(
        json.dumps(document, cls=NinjaJSONEncoder), content_type="application/json; charset=utf-8"
    )
