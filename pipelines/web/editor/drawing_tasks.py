"""The queue's entry points for drawings of lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from pipelines.lines import drawings
from pipelines.lines.version_comparison import DRAFT, LIVE
from pipelines.models import Line, LineVersion
from pipelines.ports.queue_tasks import DRAW, DRAW_DRAFT, DRAW_VERSION, DRAWINGS
from pipelines.routing.document.line import DocumentError
from pipelines.web.editor.canvas_drawing import draw_canvas
from pipelines.web.lines.change_groups import stored_svg_of_comparison
from pipelines.web.lines.drawing import picture_of_draft, picture_of_version

DRAWERS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="drawings")
# A worker that is stopped in the middle leaves the ticket to the next.
STOPPED: tuple[Any, ...] = (asyncio.CancelledError,)
RETRY = RetryStrategy(
    max_attempts=4, exponential_wait=5, retry_exceptions=[DatabaseError, InterfaceError, *STOPPED]
)


@app.task(name=DRAW, queue=DRAWINGS, retry=RETRY)
async def draw(drawing_id: int) -> None:
    await _run_in_drawing_thread(drawings.draw_if_pending, drawing_id)


@app.task(name=DRAW_VERSION, queue=DRAWINGS, retry=RETRY)
async def draw_version(version_id: int) -> None:
    await _run_in_drawing_thread(_draw_version, version_id)


@app.task(name=DRAW_DRAFT, queue=DRAWINGS, retry=RETRY)
async def draw_draft(line_id: int, number: int) -> None:
    await _run_in_drawing_thread(_draw_draft, line_id, number)


def _draw_version(version_id: int) -> None:
    version = LineVersion.objects.select_related("line").get(pk=version_id)
    if version.line.live_id == version_id:
        drawings.draw_for_lists(version.line, picture_of_version(version).given)
        draw_canvas(version.line)


def _draw_draft(line_id: int, draft_number: int) -> None:
    """Draw what pages show of the draft, unless a later one was saved, which has its own ticket, or it was
    published."""
    line = Line.objects.select_related("live").filter(pk=line_id, draft_number=draft_number).first()
    if line is None or (line.live and line.draft_at and line.live.published_at >= line.draft_at):
        return
    if line.live:
        stored_svg_of_comparison(line, LIVE, DRAFT)
    else:
        # A draft may be no line yet
        with suppress(DocumentError):
            drawings.draw_for_lists(line, picture_of_draft(line).given)
    draw_canvas(line)


async def _run_in_drawing_thread(function: Callable[..., None], *arguments: int) -> None:
    def run() -> None:
        try:
            function(*arguments)
        finally:
            # A thread of a pool has no request at whose end Django would close it
            connection.close()

    await asyncio.get_running_loop().run_in_executor(DRAWERS, run)
