"""What has to wrap every request of this composition."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from psycopg_pool import PoolTimeout


class DatabaseBusyMiddleware:
    """An exhausted connection pool answers 503 with the time after which to ask again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, PoolTimeout) and not isinstance(error.__cause__, PoolTimeout):
            return None
        words = gettext("All database connections are in use. Try again in a few seconds.")
        return HttpResponse(
            words, status=503, content_type="text/plain; charset=utf-8", headers={"Retry-After": "3"}
        )
