"""Middleware that wraps every request of this composition."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from config import metrics
from pipelines.web.shell import errors, request_id
from pipelines.web.shell.outage_errors import is_database_unavailable, is_disk_full

View = Callable[[HttpRequest], HttpResponseBase]


class DatabaseAwayMiddleware:
    """A database that is away or busy answers 503 with the time after which to ask again, a disk that is full 507. What
    goes wrong outside of views comes to `handler500`, which knows it too."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if is_disk_full(error):
            return errors.disk_full(request)
        return errors.unavailable(request) if is_database_unavailable(error) else None


class RoomMiddleware:
    """Gives the calls of a request one piece of memory for their frames.

    Python takes it in pieces of 16 KB, and gives one back as soon as the call that needed it returns. Where the loop
    over the cards of a board happened to begin at the end of a piece, each small function that it called took a new one
    from the system: 20 ms a page, and another page with every change of how deep calls are. A frame that is larger than
    a piece gets one of twice its size, and what it leaves is enough for all that it calls."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return _with_room(self.get_response, request)


def _with_room(view: View, request: HttpRequest) -> HttpResponseBase:
    return view(request)


# Places of eight bytes, in a piece of 1 MB.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=66_000)


async def _no_pieces() -> AsyncIterator[bytes]:
    pieces: tuple[bytes, ...] = ()
    for piece in pieces:
        yield piece


class BodylessHeadMiddleware:
    """The answer to HEAD has the headers of GET and no body, also where the body comes in pieces.

    The server drops only the first piece; the rest would go into the connection, where a client reads it as the answer
    to its next request."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method != "HEAD":
            return response
        if isinstance(response, StreamingHttpResponse):
            # Django warns where ASGI gets an iterator that is not asynchronous.
            response.streaming_content = _no_pieces() if isinstance(request, ASGIRequest) else iter(())
        elif isinstance(response, HttpResponse):
            # Before the content goes: the length is that of the answer to GET.
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response


class ObservedRequestMiddleware(MiddlewareMixin):
    """Gives a request its id, and counts its answer with the time until it began (docs/metrics.md)."""

    def process_request(self, request: HttpRequest) -> None:
        request.id = request_id.begin(request.headers.get(request_id.HEADER, ""))  # type: ignore[attr-defined]
        request.began = time.perf_counter()  # type: ignore[attr-defined]

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        area = metrics.area_of(request.path_info)
        metrics.REQUESTS.labels(area, response.status_code).inc()
        metrics.DURATION.labels(area).observe(time.perf_counter() - request.began)  # type: ignore[attr-defined]
        response.headers[request_id.HEADER] = request.id  # type: ignore[attr-defined]
        return response


class PrivateAnswersMiddleware(MiddlewareMixin):
    """Pages and API answers are for one reader: no cache keeps them, the browser's included. Files of the front end
    are served before and keep what they say."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers["Cache-Control"] = "private, no-store"
        return response
