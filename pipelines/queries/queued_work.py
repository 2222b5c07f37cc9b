"""Work that waits for a worker, station by station, and whether a worker does it.

All jobs of one station, purpose and kind need the same of a worker, but for the images of a repository that an input
names. So what waits is found by one look into an index for each station, however many jobs wait there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pipelines.models import Purpose
from pipelines.models.plumbing.compiled_queries import fetch_prepared
from pipelines.ports.leases import WorkOffer
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import versions
from pipelines.queries.statements import QUEUED_EVERYWHERE, QUEUED_IN_LINE, QUEUED_IN_PROJECT
from pipelines.routing.document.evaluations import MACHINES
from pipelines.routing.document.kinds import required_offers, runs_programs, secret_names
from pipelines.routing.document.line import Station

SERVER_ONLY: Final = frozenset({"kind:deliver", "kind:wait_for_checks"})
"""What pushes or asks a host with the credentials of the project: the server's own workers do it, no runner."""


@dataclass(frozen=True)
class QueuedWork:
    """The queued jobs of one station, of one purpose and kind. `version`: the id under which they are judged."""

    version: int
    station: str
    purpose: str
    kind: str
    reach: ValueScope
    owner: str

    @property
    def published_station(self) -> Station:
        return versions.parsed_line_by_version_id(self.version).station(self.station)

    @property
    def project(self) -> int:
        return self.reach.project


def queued_work_everywhere() -> list[QueuedWork]:
    """Return the work that waits in all projects."""
    return _read_queued_work(QUEUED_EVERYWHERE, [])


def queued_work_in_project(project: int) -> list[QueuedWork]:
    return _read_queued_work(QUEUED_IN_PROJECT, [project])


def queued_work_in_line(line: int) -> list[QueuedWork]:
    return _read_queued_work(QUEUED_IN_LINE, [line])


def _read_queued_work(text: str, values: list[int]) -> list[QueuedWork]:
    return [
        QueuedWork(version, station, purpose, kind, ValueScope(owner_id, project, line), owner)
        for version, station, purpose, kind, line, project, owner_id, owner in fetch_prepared(text, values)
    ]


def worker_may_do_work(offer: WorkOffer, work: QueuedWork, brings: Collection[str] | None = None) -> bool:
    """True if a worker with this offer does such jobs, as far as images are not concerned. `brings`: the secrets that
    come with the job; None: all that it needs."""
    return offer.works_in_project(work.project) and worker_may_do_job(
        offer,
        work.owner,
        (work.version, work.station, work.purpose, work.kind),
        lambda station: _secret_offers_among(required_offers(station)) if brings is None else brings,
    )


def offer_depends_on_secrets(offer: WorkOffer, work: QueuedWork) -> bool:
    """True if it depends on what is stored whether a worker with this offer does such jobs."""
    return work.purpose == Purpose.STATION and all(
        _names_secrets_and_lacks_offers(work.version, work.station, offer.offers)
    )


def worker_may_do_job(
    offer: WorkOffer,
    owner: str,
    job: tuple[int, str, str, str],
    brings: Callable[[Station], Collection[str]],
) -> bool:
    """True if a worker with this offer does such a job, of this version, station, purpose and kind.

    A question for a machine needs nothing that its station needs: any worker that can answer takes it. A hook and a
    tool are programs, and run where the station's work runs."""
    version, key, purpose, kind = job
    if purpose != Purpose.STATION and kind in MACHINES:
        return offer.serves_owner(owner) and kind in offer.answers
    station = versions.parsed_line_by_version_id(version).station(key)
    if not offer.serves_owner_and_labels(owner, station.labels):
        return False
    if purpose != Purpose.STATION:
        return runs_programs(offer.offers)
    names_secrets, lacks = _names_secrets_and_lacks_offers(version, key, offer.offers)
    # Stored secrets are looked up only where it depends on them.
    return not lacks or offer.can_do_station(owner, station, brings(station) if names_secrets else ())


def _secret_offers_among(names: Collection[str]) -> list[str]:
    return [name for name in names if name.startswith("secret:")]


# A published version never changes (house §2), and workers with the same offers share the answer
@lru_cache(maxsize=4096)
def _names_secrets_and_lacks_offers(
    version: int, key: str, offers: frozenset[str] | None
) -> tuple[bool, bool]:
    """Return of a station whether it names secrets, and whether it needs what a worker with these offers has not."""
    station = versions.parsed_line_by_version_id(version).station(key)
    lacks = offers is not None and any(need not in offers for need in required_offers(station))
    return bool(secret_names(station.work)), lacks
