"""A back-test as lines of JSON, one at a time as they come: progress, tasks, at last the result or a problem."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Generator
from functools import partial
from threading import BoundedSemaphore
from typing import Any

import structlog
from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.http import StreamingHttpResponse

from pipelines.lines.backtest.backtest_result import BacktestTask
from pipelines.lines.backtest.run import BacktestEvent, UnreadableDecision, back_test_events
from pipelines.lines.backtest.selection import Selection
from pipelines.lines.backtest.target import BacktestTarget
from pipelines.models import Line
from pipelines.routing.basics.hidden_characters import escape_hidden_json

AT_ONCE = 2
"""Back-tests that one web process runs at a time: each holds a connection and keeps a core busy."""
_free = BoundedSemaphore(AT_ONCE)
log = structlog.get_logger(__name__)


def stream_response(
    line: Line, target: BacktestTarget, selection: Selection, *, each_task: bool = True
) -> StreamingHttpResponse:
    """`application/x-ndjson`. When the client goes away the reading ends with the step that is under way."""
    lines = _ndjson_lines_of_backtest(back_test_events(line, target, selection), each_task)
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
    # A proxy that collects an answer before it passes it on would hide the progress.
    response["X-Accel-Buffering"] = "no"
    return response


async def _ndjson_lines_of_backtest(
    events: Generator[BacktestEvent, None, None], each_task: bool
) -> AsyncIterator[bytes]:
    """Yield the lines of a back-test. Each step runs in the request's own thread, as its connection does; an
    iterator that is not asynchronous would be collected whole before the first line is sent."""
    # Refused, not queued: to wait here would block the event loop.
    if not _free.acquire(blocking=False):
        busy = problem_dict(
            429, "Two other back-tests are running. Try again when one of them has ended, or stop one."
        )
        yield _json_line(busy)
        return
    step = sync_to_async(partial(_next_event_or_none, events))
    try:
        while (one := await step()) is not None:
            if each_task or not isinstance(one, BacktestTask):
                yield _json_line(one if isinstance(one, dict) else one.to_dict())
    finally:
        try:
            # In the thread of the steps, which has the connection of the open cursor.
            await sync_to_async(events.close)()
        finally:
            _free.release()


def _next_event_or_none(
    events: Generator[BacktestEvent, None, None],
) -> BacktestEvent | dict[str, Any] | None:
    """Return the next event. The headers are sent long before: an error now becomes the last line."""
    try:
        return next(events, None)
    except DatabaseError:
        log.exception("backtest_failed")
        return problem_dict(503, "The recorded decisions could not be read. Run the back-test again.")
    # One damaged row ends it: a result without it would be taken for that of all
    except UnreadableDecision as fault:
        log.exception("backtest_failed")
        where = {"task": fault.task, "station": fault.station}
        message = "The decision of {task} at {station} is damaged and cannot be tried.".format(**where)
        hint = "Leave it out by a later date under “Decided since”."
        return problem_dict(500, f"{message} {hint}")


def problem_dict(status: int, detail: str) -> dict[str, Any]:
    """Return a problem in the shape of the API's errors."""
    titles = {429: "Too many requests", 503: "Not available", 500: "Error"}
    return {"type": "problem", "title": titles[status], "status": status, "detail": detail, "errors": []}


def _json_line(value: dict[str, Any]) -> bytes:
    return escape_hidden_json(json.dumps(value, ensure_ascii=False)).encode() + b"\n"
