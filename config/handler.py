"""How the web process serves a request: in one thread, from its first middleware to the end of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import IO, Any, Final

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.signals import request_started
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

MOST_IDLE: Final = 40
"""Threads that wait for the next request."""
RUNNERS: Final = ("/api/v1/runner/", "/api/runner/")


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
        asked = str(scope["path"]).removeprefix(scope.get("root_path", ""))
        thread = self._idle.pop() if self._idle else RequestThread()
        try:
            if scope["method"] == "POST" and asked.startswith(RUNNERS):
                await self._answer_a_runner(thread, scope, receive, send)
            else:
                async with ThreadSensitiveContext(executor=thread):
                    await self.handle(scope, receive, send)
        finally:
            self._leave(thread)

    async def _answer_a_runner(self, thread: RequestThread, scope: Any, receive: Any, send: Any) -> None:
        """One change of thread, from the signal that begins a request to the one that ends it. What such a call does is
        done even if the runner has hung up, so nobody listens for that."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        here = asyncio.get_running_loop()
        response = await here.run_in_executor(thread, copy_context().run, self._answered, scope, body)
        await self.send_response(response, send)

    def _answered(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        with body:
            set_script_prefix(get_script_prefix(scope))
            request_started.send(sender=self.__class__, scope=scope)
            request, refusal = self.create_request(scope, body)
            response = refusal if request is None else self.get_response(request)
            assert response is not None
            response._handler_class = self.__class__  # type: ignore[attr-defined]
            response.close()
            return response

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
