"""Pages for what went wrong, each with a way on: for who is signed in in the shell, else in the plain frame. 500 and
503 come without the database, too."""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext

from pipelines.web.shell.away import RETRY_SECONDS, is_away, words


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 403, message=_said(exception))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 404)


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(request, 403, message=reason)


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the error is handled: that the database is away is no failure of the server."""
    if is_away(sys.exc_info()[1]):
        return unavailable(request)
    try:
        return _page(request, 500)
    except Exception:  # noqa: BLE001  # what failed may be the shell itself
        return HttpResponse(render_to_string("errors/500.html"), status=500)


def unavailable(request: HttpRequest) -> HttpResponse:
    """503, as a page or, where a program asked, as JSON. Without the database."""
    if request.path_info.startswith("/api/"):
        problem = {"title": gettext("The server is busy"), "status": 503, "detail": words(), "errors": []}
        response: HttpResponse = JsonResponse(problem, status=503, content_type="application/problem+json")
    elif request.content_type == "application/json":
        response = JsonResponse({"detail": words()}, status=503)
    else:
        # Not `render`: who is signed in would be looked up in the database.
        response = HttpResponse(render_to_string("errors/503.html", {"message": ""}), status=503)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def too_many(request: HttpRequest, seconds: int, reason: str = "") -> HttpResponse:
    """429, as a page or, where a script asked, as JSON."""
    detail = reason or gettext(
        "You sent more requests than the server allows. Wait a minute, then try again."
    )
    if request.content_type == "application/json":
        problem = {"path": "", "message": detail, "hint": ""}
        response: HttpResponse = JsonResponse({"detail": detail, "problems": [problem]}, status=429)
    else:
        response = _page(request, 429, message=reason)
    response["Retry-After"] = str(seconds)
    return response


def guessing(request: HttpRequest) -> HttpResponse:
    """429 for whoever tries names, passwords or codes (`ACCOUNT_RATE_LIMITS`)."""
    return too_many(request, 60)


def _page(request: HttpRequest, status: int, **context: Any) -> HttpResponse:
    return render(request, f"errors/{status}.html", context, status=status)


def _said(exception: Exception | None) -> str:
    """What a view said when it refused; never the text of any other exception."""
    text = str(exception) if exception else ""
    return text if text and len(text) < 500 else ""
