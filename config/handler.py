"""How the web process serves a request: in one thread, from its first middleware to the end of its answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

MOST_IDLE: Final = 40
"""Threads that wait for the next request."""


class OneThread(ASGIHandler):
    """Django's own goes back to the event loop between the middleware and the view wherever one of the two is
    synchronous, and begins and ends a thread for each request. Here nearly all are: two changes of thread, and what a
    new thread makes anew for the database, were a third of what a short request took (docs/proof.md).

    The few asynchronous views run on the loop as before, and what is streamed is not touched."""

    def __init__(self) -> None:
        super().__init__()
        self._idle: list[RequestThread] = []

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        thread = self._idle.pop() if self._idle else RequestThread()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            self._leave(thread)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response)(request)

    def _leave(self, thread: RequestThread) -> None:
        if thread.is_idle and len(self._idle) < MOST_IDLE:
            self._idle.append(thread)
        else:
            thread.shutdown(wait=False)


class RequestThread(ThreadPoolExecutor):
    """A thread that serves one request after the other."""

    _last: Future[Any] | None = None

    def __init__(self) -> None:
        super().__init__(max_workers=1, thread_name_prefix="request")

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        self._last = super().submit(work, *given, **named)
        return self._last

    @property
    def is_idle(self) -> bool:
        """False where its request was given up and its work goes on."""
        return self._last is None or self._last.done()
