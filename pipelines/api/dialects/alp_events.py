"""The event stream of ALP's runners: that a job is there, so that nobody has to poll often."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import BoundedSemaphore
from typing import Any, Final

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db.models import Q
from django.http import StreamingHttpResponse
from django.utils import timezone

from pipelines.api.auth import RunnerBearer
from pipelines.api.dialects.alp import RUNNERS, get_token_runner
from pipelines.api.lookup import Operations
from pipelines.api.runner_requests import RunnerRequest
from pipelines.models import Worker
from pipelines.web.live.hints import project_group_name
from pipelines.work.runners import alp_runners

router = Operations("ALP runners", (401, 404), auth=RunnerBearer())
AT_ONCE: Final = 50
"""Streams of one web process."""
LASTS: Final = 600.0
QUIET: Final = 10.0
"""Seconds without news, after which it looks all the same: a hint may be lost. Each look is a sign of life."""
PAUSE: Final = 1.0
_free = BoundedSemaphore(AT_ONCE)


@router.get(
    RUNNERS + "/events",
    response={200: None},
    summary="Be told of work (server-sent events)",
    url_name="alp-events",
)
def stream(request: RunnerRequest, owner: str, project: str) -> StreamingHttpResponse:
    """`event: job_available` with `data: {"jobId": …}`, once for each job that this runner could have. It says what to
    poll for and claims nothing. It ends after ten minutes, or with the token: connect again."""
    runner = get_token_runner(request, owner, project)
    response = StreamingHttpResponse(_event_stream(runner), content_type="text/event-stream")
    # A proxy that collects an answer before it passes it on would hide the news.
    response["X-Accel-Buffering"] = "no"
    return response


async def _event_stream(runner: Worker) -> AsyncIterator[bytes]:
    # To wait for a place would hold up the loop of all other streams
    if not _free.acquire(blocking=False):
        yield b"retry: 60000\n: too many streams are open here, poll for work\n\n"
        return
    layer, until, sent = get_channel_layer(), time.monotonic() + LASTS, set[int]()
    channel, group = await layer.new_channel(), project_group_name(runner.project_id or 0)
    try:
        # Subscribed first, then looked at: what comes between is not missed.
        await layer.group_add(group, channel)
        # Milliseconds after which the client connects again
        yield b"retry: 10000\n\n"
        while time.monotonic() < until:
            job_ids = await sync_to_async(_waiting_job_ids_or_none_if_revoked)(runner.pk)
            if job_ids is None:
                return
            for job in (job_id for job_id in job_ids if job_id not in sent):
                yield _job_event(job)
            # Forgets those that are gone: a job that comes back is told anew.
            sent = set(job_ids)
            if not job_ids:
                yield b": nothing waits\n\n"
            await _wait_for_hint(layer, channel)
    finally:
        # First: where the bus is away the next line raises, and the place has to be free all the
        # same
        _free.release()
        await layer.group_discard(group, channel)


async def _wait_for_hint(layer: Any, channel: str) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(QUIET):
            await layer.receive(channel)
    # At most one look a second, however many hints come
    await asyncio.sleep(PAUSE)


def _waiting_job_ids_or_none_if_revoked(runner: uuid.UUID) -> list[int] | None:
    """None: its token was taken away, or has expired."""
    in_force = Worker.objects.filter(pk=runner, token__revoked_at=None).select_related("token")
    worker = in_force.filter(Q(token__expires_at=None) | Q(token__expires_at__gt=timezone.now())).first()
    if worker is None:
        return None
    alp_runners.mark_present(worker)
    return alp_runners.ids_of_jobs_for_runner(worker)


def _job_event(job: int) -> bytes:
    return f"event: job_available\ndata: {json.dumps({'jobId': str(job)})}\n\n".encode()
