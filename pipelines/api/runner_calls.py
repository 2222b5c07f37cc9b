"""Calls with reports that are answered together, without a thread and an operation for each (config/handler.py).

Only what is plainly in order goes this way. Whatever else is said, and whatever is refused, is answered by the
operation in runners.py, as if nothing had happened before: nothing has, since what is refused changes nothing."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from ninja.responses import NinjaJSONEncoder

from pipelines.api import problems, runner_reports
from pipelines.api import runner_bodies as bodies
from pipelines.api.auth import project_of
from pipelines.api.runner_reports import NOT_ITS, Faulty, ReportCall, SentReport
from pipelines.errors import Invalid
from pipelines.routing.document.kinds import instant
from pipelines.work.transport.http import wire
from pipelines.work.transport.protocol import ReportAnswer

SHORT: Final = 64 * 1024
"""Bytes of a body that are read before it is known whether its token is in force still, and on the event loop."""
_ID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
LEASE: Final = re.compile(_ID)
ADDRESS: Final = re.compile(rf"/api/(?:v1/)?runner/({_ID})/(?:jobs/([1-9][0-9]{{0,17}})/report|reports)")
BEARER: Final = "Bearer "


@dataclass(frozen=True)
class SentCall:
    """`project`: that of its token when it was last in force; `is_alone`: it is about one job, and answered so."""

    project: int
    is_alone: bool
    said: ReportCall

    @property
    def jobs(self) -> list[int]:
        return [each.job for each in self.said.said]


@dataclass(frozen=True)
class CallAnswer:
    """`instant`: the jobs that it hands out and that take no time."""

    response: HttpResponse
    instant: frozenset[int]


def read(request: HttpRequest) -> SentCall | None:
    """None where a call is none with reports, or is not plainly in order. Asks no database."""
    found = ADDRESS.fullmatch(request.path_info)
    secret = request.META.get("HTTP_AUTHORIZATION", "")
    if found is None or not secret.startswith(BEARER) or not _is_short(request):
        return None
    secret = secret.removeprefix(BEARER)
    project, runner, job = project_of(secret), uuid.UUID(found[1]), found[2]
    if project is None:
        return None
    try:
        said = bodies.together(request) if job is None else _alone(request, int(job))
    except Invalid:
        return None
    if said is None or any(isinstance(each, Faulty) for each in said):
        return None
    return SentCall(project, job is not None, ReportCall(secret, runner, said))


def _alone(request: HttpRequest, job: int) -> tuple[SentReport | Faulty, ...] | None:
    lease = LEASE.fullmatch(request.headers.get(wire.LEASE, ""))
    return None if lease is None else (bodies.alone(request, job, uuid.UUID(lease[0])),)


def _is_short(request: HttpRequest) -> bool:
    size = request.META.get("CONTENT_LENGTH") or ""
    return size.isdecimal() and len(size) < 10 and int(size) <= SHORT


def answer(calls: Sequence[SentCall]) -> list[CallAnswer | None]:
    """Of calls of one project, each in its place. None: it is refused, and the operation says how."""
    answers = runner_reports.answer(calls[0].project, [each.said for each in calls])
    return [_response(call, said) for call, said in zip(calls, answers, strict=True)]


def _response(call: SentCall, answers: runner_reports.Answered) -> CallAnswer | None:
    if not isinstance(answers, list):
        return None
    if not call.is_alone:
        together = {"answers": [wire.answer_json(each) for each in answers]}
        return CallAnswer(plain(together), _instant(answers))
    (answer,) = answers
    if answer.status == NOT_ITS.status:
        return None
    if answer.status == "error":
        # Alone it would fail again, and be recorded as failed a second time.
        failed = HttpResponse(json.dumps(problems.body(503, answer.detail)), problems.CONTENT_TYPE, 503)
        return CallAnswer(failed, frozenset())
    return CallAnswer(plain(wire.answer_json(answer)), _instant(answers))


def _instant(answers: Sequence[ReportAnswer]) -> frozenset[int]:
    following = (each.following.orders for each in answers if each.following is not None)
    return frozenset(orders.job_id for orders in following if instant(orders.kind))


def plain(document: dict[str, Any]) -> HttpResponse:
    """What the library would write, once it had looked at every value twice."""
    return HttpResponse(
        json.dumps(document, cls=NinjaJSONEncoder), content_type="application/json; charset=utf-8"
    )
