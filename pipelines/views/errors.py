"""Pages for what went wrong, each with a way on. None of them needs the database."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 403, message=_said(exception))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 404)


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(request, 403, message=reason)


def server_error(request: HttpRequest) -> HttpResponse:
    return _page(request, 500)


def too_many(request: HttpRequest, seconds: int, reason: str = "") -> HttpResponse:
    """429, as a page or, where a script asked, as JSON."""
    words = reason or gettext("You asked more often than the server allows. Wait a minute, then try again.")
    if request.content_type == "application/json":
        problem = {"path": "", "message": words, "hint": ""}
        response: HttpResponse = JsonResponse({"detail": words, "problems": [problem]}, status=429)
    else:
        response = _page(request, 429, message=reason)
    response["Retry-After"] = str(seconds)
    return response


def _page(request: HttpRequest, status: int, **context: Any) -> HttpResponse:
    return render(request, f"errors/{status}.html", context, status=status)


def _said(exception: Exception | None) -> str:
    """What a view said when it refused; never the text of any other exception."""
    words = str(exception) if exception else ""
    return words if words and len(words) < 500 else ""
