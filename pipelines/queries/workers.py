"""The workers that are alive, and those among them that separate nothing (house §5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.models import Worker
from pipelines.ports.terms import ALIVE_SECONDS

ALIVE = timedelta(seconds=ALIVE_SECONDS)
NONE = "none"


def alive(now: datetime) -> list[Worker]:
    return list(Worker.objects.filter(stopped_at=None, seen_at__gt=now - ALIVE).order_by("name"))


def leaving_network_open(now: datetime) -> list[str]:
    """The names of those on which a station that is to have no network has one: pages of lines say so."""
    return [worker.name for worker in alive(now) if not worker.cuts_network]


@dataclass(frozen=True)
class Unprotected:
    """Names of workers. `isolation`: a station there could read keys and forge a decision. `network`: of the others
    those where it has the network all the same. Settings and gate pages say so (house §5)."""

    isolation: list[str]
    network: list[str]


def unprotected(now: datetime) -> Unprotected:
    living = alive(now)
    return Unprotected(
        [worker.name for worker in living if worker.isolation == NONE],
        [worker.name for worker in living if worker.isolation != NONE and not worker.cuts_network],
    )
