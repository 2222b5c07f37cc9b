"""Middleware that wraps every request of this composition."""

from __future__ import annotations

import gzip
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from structlog.contextvars import bind_contextvars

from config import metrics
from pipelines.ports import tracing
from pipelines.web.lines.images import IMMUTABLE
from pipelines.web.shell import errors
from pipelines.web.shell.outage_errors import is_disk_full, is_unavailable
from pipelines.web.shell.rate_limits import PROBES

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
        return errors.unavailable_response(request, error) if is_unavailable(error) else None


class RoomMiddleware:
    """Gives the calls of a request one piece of memory for their frames.

    Python takes it in pieces of 16 KB, and gives one back as soon as the call that needed it returns. Where the loop
    over the cards of a board happened to begin at the end of a piece, each small function that it called took a new one
    from the system: 20 ms a page, and another page with every change of how deep calls are. A frame that is larger than
    a piece gets one of twice its size, and what it leaves is enough for all that it calls."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return _view_with_room(self.get_response, request)


def _view_with_room(view: View, request: HttpRequest) -> HttpResponseBase:
    return view(request)


# Places of eight bytes, in a piece of 1 MB.
_view_with_room.__code__ = _view_with_room.__code__.replace(co_stacksize=66_000)


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
        request.id = begin_and_return_request_id(request.headers.get(REQUEST_ID_HEADER, ""))  # type: ignore[attr-defined]
        request.began = time.perf_counter()  # type: ignore[attr-defined]

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        area = product_area(request.path_info)
        seconds = time.perf_counter() - request.began  # type: ignore[attr-defined]
        metrics.REQUESTS.labels(area, response.status_code).inc()
        metrics.DURATION.labels(area).observe(seconds)
        response.headers[REQUEST_ID_HEADER] = request.id  # type: ignore[attr-defined]
        if tracing.recorder is not None and area not in UNTRACED:
            tracing.record_request(request.id, time.time() - seconds, span_attributes(request, response))  # type: ignore[attr-defined]
        return response


class PrivateAnswersMiddleware(MiddlewareMixin):
    """Pages and API answers are for one reader: no cache keeps them, the browser's included. It keeps images of
    drawings, whose address names what is in them. Files of the front end are served before and keep what they say."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.headers.get("Cache-Control") != IMMUTABLE:
            response.headers["Cache-Control"] = "private, no-store"
        return response


TEXT = ("text/", "application/javascript", "application/json", "image/svg+xml")
LARGEST = 4 << 20
# Bytes; Django's GZipMiddleware leaves what is shorter uncompressed, too.
SMALLEST = 200
# Compressed files that a process keeps in memory
FILES = 256


class CompressionMiddleware(GZipMiddleware):
    """Answers travel compressed, for browsers that take it: pages, API answers, and the files of the front end.
    It stands around the middleware that serves static files.

    The length of a page does not give away a secret in it (BREACH): Django masks the CSRF token anew in each
    answer, and its GZipMiddleware adds a random number of bytes (“Heal the BREACH”). What is streamed stays as
    it is: its lines have to arrive as they come, and a download keeps its length."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if isinstance(response, FileResponse):
            return _compressed_file(request, response)
        return response if response.streaming else super().process_response(request, response)


def _compressed_file(request: HttpRequest, response: FileResponse) -> HttpResponseBase:
    file = response.file_to_stream
    if file is None or not _is_static_text(response):
        return response
    # Also where it stays uncompressed: by this a cache tells the two answers apart
    patch_vary_headers(response, ("Accept-Encoding",))
    if not re_accepts_gzip.search(request.META.get("HTTP_ACCEPT_ENCODING", "")):
        return response
    with file:
        body = _gzipped_file(file.name, response.get("Last-Modified", ""))
    compressed = HttpResponse(body)
    for name, value in response.items():
        compressed[name] = value
    compressed["Content-Length"], compressed["Content-Encoding"] = str(len(body)), "gzip"
    return compressed


def _is_static_text(response: FileResponse) -> bool:
    """A whole file, as WhiteNoise serves it: it alone sends files without saying that they are attachments."""
    return (
        response.status_code == 200
        and not response.has_header("Content-Encoding")
        and not response.has_header("Content-Disposition")
        and response.get("Content-Type", "").startswith(TEXT)
        and SMALLEST <= int(response.get("Content-Length") or 0) <= LARGEST
    )


@lru_cache(maxsize=FILES)
def _gzipped_file(path: str, modified: str) -> bytes:
    """The file, compressed once for each process and each change of it."""
    # Without the time of day in it the same file makes the same bytes in each process
    return gzip.compress(Path(path).read_bytes(), mtime=0)


AREAS: Final = (
    ("/api/v1/runner/", "runner"),
    ("/api/runner/", "runner"),
    ("/api/", "api"),
    ("/static/", "static"),
)

UNTRACED: Final = ("static", "probe")


def product_area(path: str) -> str:
    """Return the part of the product that a path without the prefix of BASE_URL belongs to."""
    if path in PROBES:
        return "probe"
    return next((area for begin, area in AREAS if path.startswith(begin)), "page")


def span_attributes(request: HttpRequest, response: HttpResponseBase) -> dict[str, str | int]:
    """Return what the span of a request says: its route, never its address, which may hold what opens something."""
    matched = request.resolver_match
    return {
        "http.request.method": request.method or "",
        "http.response.status_code": response.status_code,
        "http.route": matched.route if matched else "",
    }


REQUEST_ID_HEADER: Final = "X-Request-ID"
VALID_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def begin_and_return_request_id(sent: str) -> str:
    """Return the id of a request: in its answer, in every line that is logged while it is served, and in what it says
    went wrong. `sent`: what a caller or a proxy sent as its own; what could not stand in a log as it is gets a new one
    instead."""
    request_id = sent if VALID_REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
    # Never unbound: Django logs what was refused after the last middleware, and the next request binds its own.
    bind_contextvars(**{tracing.REQUEST_ID: request_id})
    return request_id
