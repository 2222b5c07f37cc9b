"""The workers that are alive, and those among them that separate nothing (house §5)."""

from __future__ import annotations

from datetime import datetime, timedelta

from pipelines.models import Worker

ALIVE = timedelta(seconds=30)
NONE = "none"


def alive(now: datetime) -> list[Worker]:
    return list(Worker.objects.filter(stopped_at=None, seen_at__gt=now - ALIVE).order_by("name"))


def leaving_network_open(now: datetime) -> list[str]:
    """The names of those on which a station that is to have no network has one: pages of lines say so."""
    return [worker.name for worker in alive(now) if not worker.cuts_network]


def without_isolation(now: datetime) -> list[Worker]:
    """A station on one of these could read keys and forge a decision: settings and gate pages say so."""
    return [worker for worker in alive(now) if worker.isolation == NONE]
