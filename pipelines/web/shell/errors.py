"""Pages for what went wrong, each with a way on: for who is signed in in the shell, else in the plain frame; below
/api/ the same as problems (RFC 9457). 500 and 503 come without the database, too."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse

from pipelines.ports.tracing import current_request_id
from pipelines.web.shell.navigation import is_htmx_request, return_path
from pipelines.web.shell.outage_errors import (
    RETRY_SECONDS,
    disk_full_message,
    is_disk_full,
    is_unavailable,
    unavailable_message,
)

PROBLEMS = {
    400: ("The request is malformed", "The server cannot read this request."),
    403: ("You don’t have access", "The request was refused."),
    404: ("Not found", "There is nothing at this address."),
    405: ("Method not allowed", "This address does not take this method."),
    429: ("Too many requests", "Wait a minute, then try again."),
    500: ("The server failed", "The error was recorded. Try again."),
    503: ("The server is busy", "Try again in a few seconds."),
    507: ("The disk is full", "Ask the administrator of this server."),
}
"""Title and detail of what the API answers, where no operation of it does."""

EXPLANATIONS_OF_404 = {
    "gate-visit": "When the retention of a project purges a task, its reviews are deleted with it. "
    "The page of the task says when.",
}
"""More about what is not there, by the name of its view; the same whether it ever was."""


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error_page(request, 400)


def forbidden_page(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error_page(request, 403, message=_refusal_message_or_empty(exception))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    view = request.resolver_match.url_name if request.resolver_match else ""
    return _error_page(request, 404, message=EXPLANATIONS_OF_404.get(view or "", ""))


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form from before somebody signed in again, or out, leads back to its page, where what was typed is kept."""
    back = return_path(request)
    if is_api_request(request) or not back or request.content_type == "application/json":
        return _error_page(request, 403, message=reason)
    if is_htmx_request(request):
        # A script leaves the page as it is, with what was typed, and says so.
        return HttpResponse(status=401)
    if not request.user.is_authenticated and request.path != reverse("sign-in"):
        return redirect(f"{reverse('sign-in')}?{urlencode({'next': back})}")
    return render(request, "errors/stale.html", {"back": back, "session_ended": True}, status=403)


def method_not_allowed(allowed: str) -> HttpResponse:
    """405 of an address of the API."""
    response = _problem_response(405)
    response["Allow"] = allowed
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the error is handled: that the database is away, or a disk is full, is no failure of the server."""
    if is_disk_full(sys.exc_info()[1]):
        return disk_full(request)
    if is_unavailable(sys.exc_info()[1]):
        return unavailable_response(request, sys.exc_info()[1])
    try:
        return _error_page(request, 500)
    except Exception:  # noqa: BLE001  # what failed may be the shell itself
        return _plain_error_page(500)


def unavailable_response(request: HttpRequest, error: BaseException | None) -> HttpResponse:
    """503, as a page or, where a program asked, as JSON. Without the database."""
    response = _error_without_database(request, 503, unavailable_message(error))
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def disk_full(request: HttpRequest) -> HttpResponse:
    """Return 507 (the disk is full), as a page or as JSON. Uses no database."""
    return _error_without_database(request, 507, disk_full_message())


def _error_without_database(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    if is_api_request(request):
        return _problem_response(status, detail)
    if request.content_type == "application/json":
        return JsonResponse({"detail": detail}, status=status)
    return _plain_error_page(status)


def _plain_error_page(status: int) -> HttpResponse:
    # Not `render`: who is signed in would be looked up in the database.
    context = {"message": "", "request_id": current_request_id()}
    return HttpResponse(render_to_string(f"errors/{status}.html", context), status=status)


def too_many(request: HttpRequest, seconds: int, reason: str = "") -> HttpResponse:
    """429, as a page or, where a script asked, as JSON."""
    detail = reason or "You sent more requests than the server allows. Wait a minute, then try again."
    if request.content_type == "application/json":
        problem = {"path": "", "message": detail, "hint": ""}
        response: HttpResponse = JsonResponse({"detail": detail, "problems": [problem]}, status=429)
    else:
        response = _error_page(request, 429, message=reason)
    response["Retry-After"] = str(seconds)
    return response


def rate_limited(request: HttpRequest) -> HttpResponse:
    """429 for whoever tries names, passwords or codes (`ACCOUNT_RATE_LIMITS`)."""
    return too_many(request, 60)


def is_api_request(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def _problem_response(status: int, detail: str = "") -> HttpResponse:
    title, why = PROBLEMS[status]
    problem = {
        "title": str(title),
        "status": status,
        "detail": detail or str(why),
        "errors": [],
        "request_id": current_request_id(),
    }
    return JsonResponse(problem, status=status, content_type="application/problem+json")


def _error_page(request: HttpRequest, status: int, **context: Any) -> HttpResponse:
    if is_api_request(request):
        return _problem_response(status, context.get("message", ""))
    context["request_id"] = current_request_id()
    return render(request, f"errors/{status}.html", context, status=status)


def _refusal_message_or_empty(exception: Exception | None) -> str:
    """Return the message of a view that refused; never the text of any other exception."""
    text = str(exception) if exception else ""
    return text if text and len(text) < 500 else ""
