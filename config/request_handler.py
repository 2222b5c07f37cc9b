"""Service of a request in the web process: in one thread, from its first middleware to the end of its answer. Reports
of runners, which come more often than all else, share one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import IO, Any, Final

import structlog
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.exceptions import PermissionDenied, RequestAborted, SuspiciousOperation
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.signals import request_finished, request_started
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix
from django.utils.module_loading import import_string

from config import request_callers
from pipelines.api import api, runner_calls
from pipelines.api.runner_calls import CallAnswer, SentCall
from pipelines.api.runner_reports import TokenInvalid
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.ports.tracing import set_current_request_id
from pipelines.work.transport.batching import CallBatcher

log = structlog.get_logger(__name__)
MOST_IDLE: Final = 40
"""Threads that wait for the next request."""
RUNNERS: Final = ("/api/v1/runner/", "/api/runner/")
PATIENCE: Final = 0.25
"""Seconds behind others: many times what a transaction takes. Whoever waits longer, as where a task that others report
on is locked, goes beside them with all who wait."""
PROJECTS: Final = 256
"""Whose calls wait for each other. Of more, one that has sent nothing for longest is forgotten; who waits there is
not."""


REPORT_MIDDLEWARE: Final = (
    "config.middleware.ObservedRequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.middleware.CompressionMiddleware",
    "config.middleware.PrivateAnswersMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
)
"""Of the middleware of the settings, what a report goes through that is answered together with others. It comes with a
token and no session, its answer is JSON, and what is refused of it goes through all of them."""


@dataclass(frozen=True)
class BatchedRequest:
    """A request with reports, and what it says."""

    request: HttpRequest
    call: SentCall


class SingleThreadHandler(ASGIHandler):
    """Django's own goes back to the event loop between the middleware and the view wherever one of the two is
    synchronous, and begins and ends a thread for each request. Here nearly all are: two changes of thread, and what a
    new thread makes anew for the database, were a third of what a short request took (proof/proof.md).

    The few asynchronous views run on the loop as before, and what is streamed is not touched.

    A report needs no thread and no view of its own: those of one project that are here at the same time are answered
    together in one (api/runner_calls.py), each asked and finished by the middleware that concerns it. A long one, and
    one whose token is not known or not in force, is answered by its operation, and so is one that failed with
    others."""

    def __init__(self) -> None:
        super().__init__()
        self._idle: list[RequestThread] = []
        self._gathering = lru_cache(maxsize=PROJECTS)(self._batcher_of)
        through = [import_string(dotted_path)(_no_view) for dotted_path in REPORT_MIDDLEWARE]
        self._asked = [middleware for middleware in through if hasattr(middleware, "process_request")]
        self._answering = [
            # Answers go through the middleware from the inside out.
            middleware
            for middleware in reversed(through)
            if hasattr(middleware, "process_response")
        ]

    def load_middleware(self, is_async: bool = False) -> None:
        # Synchronous throughout, for one thread to run all of it
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = str(scope["path"]).removeprefix(scope.get("root_path", ""))
        # Runners call often and much alike: several calls are answered by one transaction
        if scope["method"] == "POST" and path.startswith(RUNNERS):
            await self._answer_runner_call(path, scope, receive, send)
            return
        thread = self._take_thread()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)
        finally:
            self._return_thread(thread)

    async def _answer_runner_call(self, path: str, scope: Any, receive: Any, send: Any) -> None:
        """Answer the call of a runner. Its work is done even if the runner has hung up, so nobody listens for
        a disconnect."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        response = await self._batched_response_or_none(path, scope, body)
        if response is None:
            response = await self._run_in_a_thread(self._respond, scope, body)
        else:
            body.close()
        await self.send_response(response, send)

    async def _run_in_a_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        thread = self._take_thread()
        try:
            here = asyncio.get_running_loop()
            # run_in_executor alone hands on no context variables.
            return await here.run_in_executor(thread, copy_context().run, work, *arguments)
        finally:
            self._return_thread(thread)

    def _respond(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """Answer a request with one change of thread, from the signal that begins it to the one that ends it."""
        with body:
            set_script_prefix(get_script_prefix(scope))
            request_started.send(sender=self.__class__, scope=scope)
            request, refusal = self.create_request(scope, body)
            response = refusal if request is None else self.get_response(request)
            assert response is not None
            response._handler_class = self.__class__  # type: ignore[attr-defined]
            # Closing sends request_finished, in the name of _handler_class.
            response.close()
            return response

    async def _batched_response_or_none(self, path: str, scope: Any, body: IO[bytes]) -> HttpResponse | None:
        """None: it is to be answered as any other call, as if this had not been tried."""
        if scope["query_string"] or not runner_calls.ADDRESS.fullmatch(path):
            return None
        request = ASGIRequest(scope, body)
        call = runner_calls.read_short_call_or_none(request) if self._is_admitted(request) else None
        # Read to look at the call; whoever answers it begins anew.
        body.seek(0)
        if call is None:
            return None
        return await self._gathering(call.project).answer_in_batch(
            BatchedRequest(request, call), call.job_ids
        )

    def _batcher_of(self, project: int) -> CallBatcher[BatchedRequest, HttpResponse]:
        async def answer_batch(requests: Sequence[BatchedRequest]) -> Sequence[HttpResponse | None]:
            try:
                answers: list[CallAnswer | None] = await self._run_in_a_thread(self._answer_calls, requests)
            except Exception as error:  # noqa: BLE001  # each is told its own when it is answered by itself
                why = f"{type(error).__name__}: {error}"[:200]
                log.warning("gathered_calls_failed", calls=len(requests), error=why)
                return [None] * len(requests)
            gathering.expect_calls_about(
                [job for answer in answers if answer is not None for job in answer.instant]
            )
            return [None if answer is None else answer.response for answer in answers]

        gathering = CallBatcher(
            answer_batch, LARGEST_BATCH, size=lambda request: len(request.call.job_ids), patience=PATIENCE
        )
        return gathering

    def _answer_calls(self, requests: Sequence[BatchedRequest]) -> list[CallAnswer | None]:
        # The context is that of the call that came first, and they are of several requests.
        set_current_request_id("")
        request_started.send(sender=self.__class__)
        try:
            answers = runner_calls.http_answers_of_calls([request.call for request in requests])
        finally:
            request_finished.send(sender=self.__class__)
        return [
            self._checked_call_answer_or_none(request.request, answer)
            for request, answer in zip(requests, answers, strict=True)
        ]

    def _checked_call_answer_or_none(
        self, request: HttpRequest, answer: CallAnswer | Exception
    ) -> CallAnswer | None:
        """None: who sends it is looked up by itself, where wrong tokens are counted."""
        set_current_request_id(request.id)  # type: ignore[attr-defined]
        if isinstance(answer, TokenInvalid):
            return None
        if isinstance(answer, Exception):
            answer = CallAnswer(api.on_exception(request, answer), frozenset())
        return replace(answer, response=self._through_middleware(request, answer.response))

    def _is_admitted(self, request: HttpRequest) -> bool:
        """Return whether the middleware of reports lets the request in, the check of the host among it. A
        refused request gets its answer from all of the middleware."""
        try:
            return all(middleware.process_request(request) is None for middleware in self._asked)
        except (SuspiciousOperation, PermissionDenied):
            return False

    def _through_middleware(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        for middleware in self._answering:
            response = middleware.process_response(request, response)
        return response

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        response = super().get_response(request)
        request_callers.remember_caller(request, response.status_code)
        return response

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response)(request)

    def _take_thread(self) -> RequestThread:
        return self._idle.pop() if self._idle else RequestThread()

    def _return_thread(self, thread: RequestThread) -> None:
        if thread.is_idle and len(self._idle) < MOST_IDLE:
            self._idle.append(thread)
        else:
            thread.shutdown(wait=False)


def _no_view(request: HttpRequest) -> HttpResponseBase:
    """Stand in for the view that middleware is built around: only its hooks before and after run, and this is
    never called."""
    raise NotImplementedError


class RequestThread(ThreadPoolExecutor):
    """A thread that serves one request after the other."""

    _last: Future[Any] | None = None

    def __init__(self) -> None:
        super().__init__(max_workers=1, thread_name_prefix="request")

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        self._last = super().submit(work, *arguments, **keywords)
        return self._last

    @property
    def is_idle(self) -> bool:
        """False where its request was given up and its work goes on."""
        return self._last is None or self._last.done()
