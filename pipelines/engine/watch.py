"""The due time of work that takes too long: in a line that looks for deadlocks a station that says what is expected of
it has twice that time (law §8)."""

from __future__ import annotations

from datetime import timedelta

from pipelines import versions
from pipelines.engine.batch import Batch
from pipelines.engine.unleased import WAIT
from pipelines.models import Job, Task, Token
from pipelines.routing.deadlocks import limit

LATE = "deadlock"
"""The kind of the due time; its key is the token's."""


def expected(job: Job) -> float | None:
    """Seconds, by the version under which the job starts: its station may have another name in the task's by now."""
    return versions.by_id(job.pinned_id).station(job.station).limits.expected


def watch(batch: Batch, task: Task, token: Token, job: Job) -> None:
    """From now on."""
    seconds = expected(job)
    if seconds and job.kind != WAIT and versions.by_id(job.pinned_id).policy.deadlocks:
        late = batch.now + timedelta(seconds=float(limit(seconds)))
        batch.set_due(LATE, task, late, key=str(token.pk), token=token)
