"""What has to wrap every request of this composition."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from pipelines.web.shell import errors
from pipelines.web.shell.away import is_away

View = Callable[[HttpRequest], HttpResponseBase]


class DatabaseAwayMiddleware:
    """A database that is away or busy answers 503 with the time after which to ask again. What goes wrong outside of
    views comes to `handler500`, which knows it too."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return errors.unavailable(request) if is_away(error) else None


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
            response.streaming_content = _no_pieces() if isinstance(request, ASGIRequest) else iter(())
        elif isinstance(response, HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response


class PrivateAnswersMiddleware:
    """Pages and API answers are for one reader: no cache keeps them, the browser's included. Files of the front end
    are served before and keep what they say."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers["Cache-Control"] = "private, no-store"
        return response
