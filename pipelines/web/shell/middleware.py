"""What every request of a page needs before its view: text that the database can hold, and the reader's clock."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from pipelines.web.shell import errors
from pipelines.web.shell.visible import visible_page

View = Callable[[HttpRequest], HttpResponse]


class PlainText:
    """Refuses NUL in an address: PostgreSQL holds no such text, and no page means it."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        query = unquote_to_bytes(request.META.get("QUERY_STRING", ""))
        if "\0" in request.path_info or b"\0" in query:
            return errors.bad_request(request)
        return self.get_response(request)


class ApiProblems:
    """405 of the API is a problem, too: the library answers it as text, before any operation."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 405 and errors.of_api(request):
            return errors.not_allowed(response.get("Allow", ""))
        return response


class VisibleText:
    """Writes hidden characters out in every page (visible.py beside this), whatever they come from: a title, the name
    of a file, a log, a document."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            page = response.content.decode(response.charset)
            shown = visible_page(page)
            if shown is not page:
                response.content = shown.encode(response.charset)
        return response


class ReadersClock:
    """Times in the zone of the person who reads them."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = getattr(request.user, "time_zone", "UTC") if request.user.is_authenticated else "UTC"
        with timezone.override(zone(name)):
            return self.get_response(request)


def zone(name: str) -> zoneinfo.ZoneInfo:
    """UTC where the name is unknown here: zones come and go with the system's table."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")
