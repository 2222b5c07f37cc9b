"""The workers that are alive, and those among them that separate nothing (house §5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, DateTimeField, Q, QuerySet

from pipelines.models import Worker
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.ports.terms import ALIVE_SECONDS
from pipelines.routing.document.kinds import runs_programs

ALIVE = timedelta(seconds=ALIVE_SECONDS)
NONE = "none"
WITHOUT_PORTS = "landlock"
"""An isolation behind which no program listens on a port, but for stations with an open network."""


def living_workers(now: datetime, project: int) -> list[Worker]:
    """Return the workers that do work of this project: of runners its own."""
    return _serving_workers(project=project, since=now - ALIVE)


@compiled(project=BigIntegerField(), since=DateTimeField())
def _serving_workers(project: Any, since: Any) -> QuerySet[Worker]:
    serving = Q(project=None) | Q(project=project)
    living = Worker.objects.filter(serving, stopped_at=None, seen_at__gt=since)
    return living.exclude(token__revoked_at__isnull=False).order_by("name")


@dataclass(frozen=True)
class NetworkGaps:
    """Names of workers. `hosts`: on these a station that is to have no network, or some hosts, has all of it;
    `refusing`: these cannot let some hosts through, and start no such station. Pages of lines say so."""

    hosts: list[str]
    refusing: list[str]


ENFORCED = NetworkGaps([], [])


def unenforced_networks_of_project(now: datetime, project: int) -> NetworkGaps:
    return unenforced_networks(living_program_workers(now, project))


def living_program_workers(now: datetime, project: int) -> list[Worker]:
    """Return the workers that are alive and run programs: of others it does not matter what isolates them."""
    return [worker for worker in living_workers(now, project) if runs_programs(worker.offers)]


def unenforced_networks(living: list[Worker]) -> NetworkGaps:
    return NetworkGaps(
        [worker.name for worker in living if not worker.cuts_network],
        [worker.name for worker in living if worker.cuts_network and not worker.limits_hosts],
    )


@dataclass(frozen=True)
class ProtectionGaps:
    """Names of workers. `isolation`: a station there could read keys and forge a decision. `network`: of the others
    those where it has the network all the same; `hosts`: those that start no station with a list of hosts. Setup
    and Runners say so (house §5). `ports`: those where no station listens on one; Setup says so."""

    isolation: list[str]
    network: list[str]
    hosts: list[str]
    ports: list[str]


def protection_gaps(now: datetime, project: int) -> ProtectionGaps:
    living = living_program_workers(now, project)
    return ProtectionGaps(
        [worker.name for worker in living if worker.isolation == NONE],
        [worker.name for worker in living if worker.isolation != NONE and not worker.cuts_network],
        unenforced_networks(living).refusing,
        [worker.name for worker in living if worker.isolation == WITHOUT_PORTS and worker.cuts_network],
    )
