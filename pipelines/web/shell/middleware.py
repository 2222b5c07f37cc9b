"""Middleware that every request of a page needs before its view: text that the database can hold, and the
reader's clock."""

from __future__ import annotations

import threading
import time
import zoneinfo
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from allauth.usersessions.models import UserSession
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from pipelines.people import accounts
from pipelines.routing.basics.hidden_characters import escape_hidden_page
from pipelines.web.shell import errors, rate_limits

View = Callable[[HttpRequest], HttpResponse]


class NullByteGuard:
    """Refuses NUL in an address: PostgreSQL holds no such text, and no page means it."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        query = unquote_to_bytes(request.META.get("QUERY_STRING", ""))
        if "\0" in request.path_info or b"\0" in query:
            return errors.bad_request(request)
        return self.get_response(request)


class ApiMethodProblems:
    """405 of the API is a problem, too: the library answers it as text, before any operation."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 405 and errors.is_api_request(request):
            return errors.method_not_allowed(response.get("Allow", ""))
        return response


class VisibleText:
    """Writes hidden characters out in every page (`routing.basics.hidden_characters`), whatever they come from: a
    title, the name of a file, a log, a document."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            page = response.content.decode(response.charset)
            visible_html = escape_hidden_page(page)
            # The very same text: nothing in it was hidden, and nothing is encoded anew.
            if visible_html is not page:
                response.content = visible_html.encode(response.charset)
        return response


class ReaderTimeZone:
    """Times in the zone of the person who reads them."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = getattr(request.user, "time_zone", "UTC") if request.user.is_authenticated else "UTC"
        with timezone.override(zone_or_utc(name)):
            return self.get_response(request)


def zone_or_utc(name: str) -> zoneinfo.ZoneInfo:
    """UTC where the name is unknown here: zones come and go with the system's table."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")


NOTED_EVERY = 300.0
MOST_REMEMBERED = 10_000


class SessionActivity:
    """Middleware. A process notes a session when it has known it for NOTED_EVERY seconds; sign-in notes it first."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        key = request.session.session_key
        if key and request.user.is_authenticated and self._note_if_due(key, time.monotonic()):
            UserSession.objects.filter(session_key=key).update(last_seen_at=timezone.now())
        return self.get_response(request)

    def _note_if_due(self, key: str, now: float) -> bool:
        with self._lock:
            since = self._noted.setdefault(key, now)
            if now - since < NOTED_EVERY:
                return False
            if len(self._noted) >= MOST_REMEMBERED:
                # Nothing is lost by it: who is forgotten is known anew, and noted a few minutes
                # later
                self._noted.clear()
            self._noted[key] = now
        return True


# Whoever is led away from all others has to get in, and out again
OPEN = ("login", "logout", "jsi18n")


class AdminGuard:
    """Middleware. Leads who lacks a password or a required second factor from the admin to where it is set up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        at = request.resolver_match
        if at is None or at.app_name != "admin" or at.url_name in OPEN or not request.user.is_authenticated:
            return None
        if accounts.lacks_password_and_provider(request.user):
            return redirect("password-set")
        return redirect("mfa_index") if accounts.needs_second_factor(request.user) else None


class AnonymousLimit:
    """Answers 429 with `Retry-After` beyond `ANONYMOUS_PER_MINUTE`. Assets never come here; who is signed in, and calls
    of the API with a token that is in force, are not counted. The minute slides: the one before counts by what of it is
    left."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response
        self._limit = rate_limits.RateLimiter("", "ANONYMOUS_PER_MINUTE")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Whoever watches over the server asks often, from one address, and is never signed in
        if request.path_info in rate_limits.PROBES:
            return self.get_response(request)
        if "Authorization" in request.headers and errors.is_api_request(request):
            return self._respond_to_token(request)
        seconds = 0 if request.user.is_authenticated else self._limit.count_and_retry_after(request)
        return errors.too_many(request, seconds) if seconds else self.get_response(request)

    def _respond_to_token(self, request: HttpRequest) -> HttpResponseBase:
        """Answer an API request that has a token. Whether the token is valid is left to the operation, so
        that it is looked up only once, unless the address has used up its pages."""
        seconds = self._limit.retry_after(request)
        if seconds and not _has_valid_token(request):
            return errors.too_many(request, seconds)
        response = self.get_response(request)
        # Set where an operation has taken the token
        if hasattr(request, "auth") or _has_valid_token(request):
            return response
        seconds = self._limit.count_and_retry_after(request)
        return errors.too_many(request, seconds) if seconds else response


def _has_valid_token(request: HttpRequest) -> bool:
    scheme, _blank, secret = request.headers["Authorization"].partition(" ")
    return scheme.lower() == "bearer" and accounts.find_token_and_note_use(secret, timezone.now()) is not None
