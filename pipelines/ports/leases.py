"""The right to work on a job, in a narrow table (house §2): grant, drop, renew, find the expired ones.

Nothing here moves a task: `engine` grants and drops inside its transactions, the worker renews, the sweep hands what
has expired to `engine`. The database's clock is the only one (house §4)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.ports.idle_pauses import IDLE_SECONDS
from pipelines.ports.statements import (
    ANSWERS_OF_WORKERS,
    CUT_LEASES_SHORT,
    EXPIRED_LEASES,
    LEASE_EXISTS,
    LEASES_OF_WORKER,
    OFFERS_OF_WORKERS,
    RENEW_LEASES,
)
from pipelines.ports.terms import ALIVE_SECONDS, LEASE_SECONDS
from pipelines.routing.document.kinds import required_offers
from pipelines.routing.document.line import Station

# House §4, poison task: one that ends its worker each time has to end by itself
MAX_ATTEMPTS = 3
# Seconds that workers have to renew when the server is back.
AFTER_A_RESTART = 5.0


@dataclass(frozen=True)
class WorkOffer:
    """Offer of a worker to take work. `owners` None = every owner; `seconds` = how long a lease lasts
    unrenewed; `answers`: which evaluations it can answer, of `MACHINES` in `routing/document/evaluations.py`."""

    worker: uuid.UUID
    labels: frozenset[str] = frozenset()
    owners: frozenset[str] | None = None
    seconds: float = LEASE_SECONDS
    answers: frozenset[str] = frozenset()
    # Of `needs` in `routing/document/kinds`; None: everything.
    offers: frozenset[str] | None = None
    # Of a runner: the only project that it serves.
    project: int | None = None

    def works_in_project(self, project: int) -> bool:
        return self.project in (None, project)

    def meets_need(self, need: str) -> bool:
        return self.offers is None or need in self.offers

    def can_do_station(
        self,
        owner: str,
        station: Station,
        needs_provided_by_job: Collection[str] = (),
        further_needs: Collection[str] = (),
    ) -> bool:
        """Return whether this worker does the work of a station, of a task of this owner.
        `needs_provided_by_job`: needs that come with the job; `further_needs`: what the environment of its repository
        asks for."""
        lacking = (
            need for need in (*required_offers(station), *further_needs) if need not in needs_provided_by_job
        )
        return self.serves_owner_and_labels(owner, station.labels) and all(map(self.meets_need, lacking))

    def serves_owner(self, owner: str) -> bool:
        """A worker serves only the owners it was started for (house §5)."""
        return self.owners is None or owner in self.owners

    def serves_owner_and_labels(self, owner: str, labels: Iterable[str]) -> bool:
        """A worker needs every label of the station."""
        return self.serves_owner(owner) and set(labels) <= self.labels


@dataclass(frozen=True)
class LeaseRecord:
    """A lease as found without a lock: whoever acts on it checks `key` again under the task's lock."""

    job_id: int
    task_id: int
    token_id: int
    key: uuid.UUID
    worker_id: uuid.UUID


def evaluations_live_workers_can_answer(owner: str, project: int) -> frozenset[str]:
    """Return the evaluations that any live worker can answer for this project of the owner."""
    return frozenset(row[0] for row in fetch(ANSWERS_OF_WORKERS, [owner, project, ALIVE_SECONDS]))


def offers_of_live_workers() -> list[WorkOffer]:
    """Return the offers of the workers that are alive."""
    rows = fetch(OFFERS_OF_WORKERS, [ALIVE_SECONDS])
    return [
        WorkOffer(
            worker,
            labels=_parsed_word_set_or_none(labels) or frozenset(),
            owners=_parsed_word_set_or_none(owners),
            offers=_parsed_word_set_or_none(offers),
            project=project,
        )
        for worker, labels, owners, offers, project in rows
    ]


def _parsed_word_set_or_none(text: str | None) -> frozenset[str] | None:
    parsed = None if text is None else json.loads(text)
    return None if parsed is None else frozenset(parsed)


def renew_leases_by_job(
    worker: uuid.UUID, seconds: float = LEASE_SECONDS, excluded_jobs: Collection[int] = ()
) -> dict[int, uuid.UUID]:
    """Renew all leases of a worker by one statement, but for those of `excluded_jobs`; {job id: key} of what it holds.

    Also the worker's sign of life, `seen_at`: of one without a lease that much later at which it comes again. A lease
    that has expired but that nobody swept yet is renewed: nobody else holds it."""
    parameters = {"worker": worker, "seconds": seconds, "but": list(excluded_jobs), "idle": IDLE_SECONDS}
    return dict(fetch(RENEW_LEASES, parameters))


def expired_leases_oldest_first(limit: int = 100) -> list[LeaseRecord]:
    """Leases past their time, the oldest first: their workers are dead or cut off.

    None while the server has only just started: nobody could renew while it was away. (A worker that lived through
    the restart waits longer, see `work.scheduler`.)"""
    return [LeaseRecord(*row) for row in fetch(EXPIRED_LEASES, [AFTER_A_RESTART, limit])]


def leases_of_worker(worker: uuid.UUID) -> list[LeaseRecord]:
    """Every lease of one worker, for its planned stop."""
    return [LeaseRecord(*row) for row in fetch(LEASES_OF_WORKER, [worker])]


def expire_leases_of_dead_worker(worker: uuid.UUID) -> None:
    """Let the leases of a worker expire whose process is known to be gone: the next sweep takes them back, and
    counts the attempt."""
    execute(CUT_LEASES_SHORT, [worker])


def has_lease(job_id: int, key: uuid.UUID, worker: uuid.UUID) -> bool:
    """Return whether this worker has this lease of the job."""
    return bool(fetch(LEASE_EXISTS, [job_id, key, worker]))
