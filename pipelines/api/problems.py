"""Shape of every error of the API: `application/problem+json` (RFC 9457), from one table."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Final

from django.core.exceptions import RequestDataTooBig
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.operation import Operation
from pydantic import BaseModel

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound, NotThisVisit, Purged, Refused
from pipelines.lines.drafts import DraftClash
from pipelines.lines.publishing import DraftConflict, PublishRefused
from pipelines.ports.tracing import current_request_id
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.basics.problems import DocumentError, Problem
from pipelines.web.editor import merge_conflicts
from pipelines.web.shell.costly_requests import TurnRefused
from pipelines.web.shell.outage_errors import (
    AWAY,
    RETRY_SECONDS,
    disk_full_message,
    is_disk_full,
    unavailable_message,
)

# The library makes a model for each status of each operation: 900 of them, most of one problem, and a quarter of the
# processor time in which a web process starts. Operations are declared after this module was loaded.
_operations: Any = Operation
_model_of = cache(partial(_operations._create_response_model, None))
_operations._create_response_model = lambda self, response: _model_of(response)

CONTENT_TYPE: Final = "application/problem+json"
# Of several that fit the first counts: classes before those that they derive from.
STATUS: tuple[tuple[type[Exception], int], ...] = (
    (TurnRefused, 429),
    (Invalid, 400),
    (DocumentError, 400),
    (NotFound, 404),
    (Purged, 410),
    (Forbidden, 403),
    (PublishRefused, 409),
    (DraftConflict, 409),
    (Conflict, 409),
    (Refused, 400),
)


class FaultOut(BaseModel):
    """Place of a fault, and what to do about it. A fault that prevents a line from being published is a
    finding of lint: it has its check besides, the rules that it speaks of, and a situation that shows it."""

    path: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    check: str | None = None
    severity: str | None = None
    station: str | None = None
    rule: str | None = None
    rules: list[str] | None = None
    witness: dict[str, Any] | None = None


class ProblemOut(BaseModel):
    """The body of every error; `request_id` finds it in the log. `by` and `at` say who was first where somebody was,
    `visit` and `evidence` which gate visit is open instead (409). Of two edits of a draft: `clashes`, the places that
    both changed, and what is stored, `document` and `text` with its `number`, over which a choice is saved."""

    title: str
    status: int
    detail: str
    errors: list[FaultOut] = []
    request_id: str = ""
    by: str | None = None
    at: str | None = None
    visit: str | None = None
    evidence: str | None = None
    number: int | None = None
    document: Any = None
    text: str | None = None
    clashes: list[dict[str, Any]] | None = None


TITLES = {
    400: "The request is malformed",
    401: "A valid token is needed",
    403: "This token may not do that",
    404: "Not found",
    405: "Method not allowed",
    409: "Something else happened first",
    410: "Purged",
    429: "Too many requests",
    503: "The server is busy",
    507: "The disk is full",
}


def problem_body(status: int, detail: str, errors: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "errors": errors or [],
        "request_id": current_request_id(),
    }


def problem_response(
    api: NinjaAPI,
    request: HttpRequest,
    status: int,
    detail: str,
    errors: list[dict[str, Any]] | None = None,
    **more: Any,
) -> HttpResponse:
    response = api.create_response(request, {**problem_body(status, detail, errors), **more}, status=status)
    response["Content-Type"] = CONTENT_TYPE
    if status == 401:
        # RFC 9110 asks for it with every 401.
        response["WWW-Authenticate"] = 'Bearer realm="Gateline"'
    return response


def install_handlers(api: NinjaAPI) -> None:
    """Give `api` the handlers: whatever is refused answers in one shape, and nothing answers 500."""

    def refusal_response(request: HttpRequest, problem: Exception) -> HttpResponse:
        status = next(code for kind, code in STATUS if isinstance(problem, kind))
        places = [p.to_dict() for p in _exception_problems(problem)]
        # A class that is raised without words has them in the first line of its docstring
        detail = str(problem) or (type(problem).__doc__ or "").partition("\n")[0]
        response = problem_response(api, request, status, detail, places, **_conflict_details(problem))
        if isinstance(problem, TurnRefused):
            response["Retry-After"] = str(problem.seconds)
        return response

    @api.exception_handler(RequestDataTooBig)
    def oversized_body_response(request: HttpRequest, problem: RequestDataTooBig) -> HttpResponse:
        return problem_response(api, request, 400, "The body is larger than this address takes.")

    for kind, _status in STATUS:
        api.exception_handler(kind)(refusal_response)

    @api.exception_handler(ValidationError)
    def invalid_fields_response(request: HttpRequest, problem: ValidationError) -> HttpResponse:
        places = [{"path": location_path(e["loc"]), "message": e["msg"], "hint": ""} for e in problem.errors]
        return problem_response(api, request, 400, "Some fields are missing or wrong.", places)

    @api.exception_handler(AuthenticationError)
    def unauthenticated_response(request: HttpRequest, problem: AuthenticationError) -> HttpResponse:
        return problem_response(
            api, request, 401, "Sign in, or send a valid token as “Authorization: Bearer …”."
        )

    @api.exception_handler(Http404)
    def not_found_response(request: HttpRequest, problem: Http404) -> HttpResponse:
        return problem_response(api, request, 404, str(problem) or "Not found here.")

    @api.exception_handler(HttpError)
    def http_error_response(request: HttpRequest, problem: HttpError) -> HttpResponse:
        return problem_response(api, request, problem.status_code, str(problem))

    for error_class in AWAY:
        api.exception_handler(error_class)(partial(_unavailable_response, api))

    @api.exception_handler(DataError)
    def unstorable_value_response(request: HttpRequest, problem: DataError) -> HttpResponse:
        return problem_response(
            api, request, 400, "A value is too large, or has characters that cannot be stored."
        )


def _unavailable_response(api: NinjaAPI, request: HttpRequest, problem: Exception) -> HttpResponse:
    if is_disk_full(problem):
        return problem_response(api, request, 507, disk_full_message())
    response = problem_response(api, request, 503, unavailable_message(problem))
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def _conflict_details(problem: Exception) -> dict[str, Any]:
    """Return the details of a conflict besides its sentence."""
    if not isinstance(problem, Conflict):
        return {}
    first: dict[str, Any] = {"by": problem.by, "at": problem.at.isoformat() if problem.at else None}
    if isinstance(problem, NotThisVisit):
        first |= {"visit": problem.visit, "evidence": problem.evidence}
    if isinstance(problem, DraftClash):
        first |= _clash_details(problem)
    return first


def _clash_details(problem: DraftClash) -> dict[str, Any]:
    stored = problem.line
    return {
        "number": stored.draft_number,
        "document": stored.draft,
        "text": stored.draft_text,
        "clashes": [merge_conflicts.clash_data(clash, stored.draft) for clash in problem.clashes],
    }


def _exception_problems(problem: Exception) -> list[Problem | Finding]:
    if isinstance(problem, PublishRefused):
        return list(problem.findings)
    return [p for p in getattr(problem, "problems", ()) if isinstance(p, Problem)]


def location_path(location: tuple[str | int, ...] | list[str | int]) -> str:
    """`("body", "payload", "inputs", 0)` as `inputs[0]`."""
    text = ""
    # Ninja puts where it stood in front, and for a body the name of the parameter, too
    for step in location[2:] if location[:1] == ("body",) or location[:1] == ["body"] else location[1:]:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or str(location[0] if location else "")
