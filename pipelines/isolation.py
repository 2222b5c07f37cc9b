"""Whether a station on these machines could forge a decision, for the pages that have to say so (house §5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models.functions import Now

from pipelines.models import Worker

SEEN_WITHIN = timedelta(seconds=30)
ISOLATED = frozenset({"bubblewrap", "landlock", "prefix"})


@dataclass(frozen=True)
class InUse:
    """A worker that lives, and what separates stations there: bubblewrap, landlock, prefix or none."""

    worker: str
    host: str
    isolation: str

    @property
    def isolated(self) -> bool:
        return self.isolation in ISOLATED


@dataclass(frozen=True)
class State:
    """`forgeable`: some living worker isolates nothing: a station there could read keys and forge a decision."""

    workers: tuple[InUse, ...]

    @property
    def forgeable(self) -> bool:
        return any(not worker.isolated for worker in self.workers)

    @property
    def open_workers(self) -> tuple[InUse, ...]:
        return tuple(worker for worker in self.workers if not worker.isolated)


def state() -> State:
    """Of the workers that live now; without any, nothing runs and nothing can be forged."""
    living = Worker.objects.filter(stopped_at=None, seen_at__gt=Now() - SEEN_WITHIN).order_by("started_at")
    return State(tuple(InUse(worker.name, worker.host, worker.isolation) for worker in living))
