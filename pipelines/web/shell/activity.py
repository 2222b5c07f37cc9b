"""When somebody was last there: noted with their session, at most every few minutes, and never on the way to a page
that would else write nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from allauth.usersessions.models import UserSession
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

NOTED_EVERY = 300.0
MOST_REMEMBERED = 10_000


class Activity:
    """Middleware. A process notes a session when it has known it for NOTED_EVERY seconds; sign-in notes it first."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        key = request.session.session_key
        if key and request.user.is_authenticated and self._is_due(key, time.monotonic()):
            UserSession.objects.filter(session_key=key).update(last_seen_at=timezone.now())
        return self.get_response(request)

    def _is_due(self, key: str, now: float) -> bool:
        with self._lock:
            since = self._noted.setdefault(key, now)
            if now - since < NOTED_EVERY:
                return False
            if len(self._noted) >= MOST_REMEMBERED:
                self._noted.clear()
            self._noted[key] = now
        return True
