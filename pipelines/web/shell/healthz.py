"""GET /healthz: whether this web process can serve. 200 when database, worker and channel layer work, else 503."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import NamedTuple

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db import Error
from django.db.models.functions import Now
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipelines.models import Worker
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports.bus import errors_with_redis_if_loaded
from pipelines.ports.terms import ALIVE_SECONDS
from pipelines.queries import unclaimable_jobs
from pipelines.web.statements import PING

PATIENCE = 3.0


@never_cache
@require_safe
async def site_or_process_health_response(request: HttpRequest) -> JsonResponse:
    """`{"status", "database", "worker", "space", "channel_layer"}`, each “ok” or “down”; and how many jobs
    no running worker offers to do, `jobs_without_worker`, where there are some. `space`: no disk of a running worker is
    full. With `?web` the answer is about this process alone: 200 without a worker, and where a disk is full."""
    (database, worker, space, waiting), layer = await asyncio.gather(
        sync_to_async(_read_health)(), _is_channel_layer_up()
    )
    parts = {"database": database, "worker": worker, "space": space, "channel_layer": layer}
    # Else a balancer would take every web process away where workers are down
    good = database and layer if "web" in request.GET else all(parts.values())
    states = {name: "ok" if state else "down" for name, state in parts.items()}
    counted = {"jobs_without_worker": waiting} if waiting else {}
    report = {"status": "ok" if good else "down", **states, **counted}
    answer = JsonResponse(report, status=200 if good else 503)
    # Whoever asks is told. Django would log each 503 as an error, at a start and in an outage several each second.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


class HealthFigures(NamedTuple):
    """Answers of the database: whether it answers, whether a worker was active lately by its clock, whether all such
    workers have room on their disks, and how many jobs no worker offers to do."""

    is_database_up: bool
    is_worker_active: bool
    have_workers_room: bool
    unclaimable_jobs: int


def _read_health() -> HealthFigures:
    try:
        execute(PING)
        alive_since = Now() - timedelta(seconds=ALIVE_SECONDS)
        # Workers of this installation; a runner elsewhere has a token.
        alive = Worker.objects.filter(seen_at__gte=alive_since, stopped_at=None, token=None)
        full = list(alive.values_list("no_space", flat=True))
        return HealthFigures(True, bool(full), not any(full), unclaimable_jobs.count_unclaimable())
    except Error:
        return HealthFigures(False, False, False, 0)


async def _is_channel_layer_up() -> bool:
    """Our own layer says whether it listens; any other has to carry a message to itself."""
    layer = get_channel_layer()
    if layer is None:
        return False
    if hasattr(layer, "wait_until_listening_or_timeout"):
        return await asyncio.to_thread(layer.wait_until_listening_or_timeout, PATIENCE)
    try:
        return await asyncio.wait_for(_can_round_trip(layer), PATIENCE)
    except errors_with_redis_if_loaded(TimeoutError, OSError):
        return False


async def _can_round_trip(layer: object) -> bool:
    channel = await layer.new_channel("health.")  # type: ignore[attr-defined]
    await layer.send(channel, {"type": "health"})  # type: ignore[attr-defined]
    answer: dict[str, str] = await layer.receive(channel)  # type: ignore[attr-defined]
    return answer.get("type") == "health"
