"""Offers of a worker beside its database: no program while it serves several owners behind Landlock (SECURITY.md)."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace
from typing import Final

import structlog
from django.db.models import Exists, OuterRef

from pipelines.models import Owner, Project, Task, Worker
from pipelines.ports.leases import WorkOffer
from pipelines.routing.document.kinds import SEVERAL_OWNERS
from pipelines.work.config import WorkerConfig

log = structlog.get_logger(__name__)
REMEDY: Final = (
    "This worker starts no program: it serves several owners, and Landlock does not keep their stations apart. Run "
    "apt-get install bubblewrap or allow user namespaces, start a worker for each owner (--owner), or set "
    "GATELINE_LANDLOCK_SEVERAL_OWNERS=yes."
)


class CurrentOffer:
    """`now`: as it was when it was last looked up."""

    def __init__(self, worker: uuid.UUID, config: WorkerConfig) -> None:
        self._worker, self._config = worker, config
        self._whole = self.now = _worker_offer(worker, config)
        without_programs = _worker_offer(worker, replace(config, programs=False, evaluator=()))
        offers = (without_programs.offers or frozenset()) | {SEVERAL_OWNERS}
        self._reduced = replace(without_programs, offers=offers)

    def refresh_and_store(self) -> WorkOffer:
        """Return what it may take at this moment, and write it into its row where that has changed."""
        if self._config.serves_one_owner:
            owners = up_to_two_owners_with_work(self._config.owners)
            offer = self._reduced if len(owners) > 1 else self._whole
            if offer.offers != self.now.offers:
                changed = {"offers": sorted(offer.offers or ()), "answers": sorted(offer.answers)}
                Worker.objects.filter(pk=self._worker).update(**changed)
                if offer is self._reduced:
                    log.warning("no_programs", why=REMEDY)
            # Another owner may come between this count and the offer: a whole one takes work of the counted owner only.
            self.now = offer if offer is self._reduced else replace(offer, owners=owners)
        return self.now


def _worker_offer(worker: uuid.UUID, config: WorkerConfig) -> WorkOffer:
    return WorkOffer(
        worker, config.labels, config.owners, config.lease_seconds, config.answers, config.offers
    )


def up_to_two_owners_with_work(only_owners: Collection[str] | None) -> frozenset[str]:
    """Name two owners at most that have work for it: a project that takes tasks, or tasks that are not over."""
    taking = Exists(Project.objects.filter(owner=OuterRef("pk"), archived_at=None))
    going_on = Exists(Task.objects.filter(line__project__owner=OuterRef("pk"), ended_at=None))
    working = Owner.objects.filter(taking | going_on)
    served = working if only_owners is None else working.filter(key__in=only_owners)
    return frozenset(served.values_list("key", flat=True)[:2])
