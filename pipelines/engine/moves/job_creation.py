"""Opening the next job of a token: the only place where a Job is made (law §1, Job)."""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import Any

from pipelines.engine.core import payload, rows
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext
from pipelines.engine.core.expected_times import watch
from pipelines.engine.core.handed_leases import HandOn
from pipelines.engine.core.holds import holds
from pipelines.engine.core.unassigned import UNLEASED, begin, kind_of
from pipelines.models import Job, Purpose, Status, Task, Token
from pipelines.ports import observers
from pipelines.ports.leases import Claim
from pipelines.ports.vault.finding import Reach
from pipelines.queries import environments, versions
from pipelines.routing.document.evaluations import MACHINES
from pipelines.routing.document.kinds import IMAGES, needs, runs_programs, secrets


def open_job(
    batch: Batch,
    task: Task,
    token: Token,
    *,
    feedback: str = "",
    asked: str = "",
    claim: Claim | None = None,
    after: Job | None = None,
) -> Job:
    """The job of the station at which the token stands now; its visit is already counted in `task.visits`.

    Work that no worker does runs at once, without a lease. A driver that continues directly (`claim`, from the job
    `after` whose lease it holds) gets the job already leased if it may take it; otherwise a ticket is written.
    Nothing starts while the task's work is held.
    """
    station = versions.by_id(task.pinned_id).station(token.station)
    job = rows.new(
        Job,
        id=batch.next_job_id(),
        task=task,
        token=token,
        pinned_id=task.pinned_id,
        station=station.key,
        kind=kind_of(station),
        agent=station.agent,
        visit=task.visits[station.key],
        feedback=feedback,
        asked=asked,
        created_at=batch.now,
    )
    token.status = Status.QUEUED
    held = holds(batch, task)
    if held:
        token.status, token.wait = Status.HELD, held
    elif job.kind in UNLEASED:
        begin(batch, task, job)
    elif not _handed_on(batch, task, job, claim, after):
        batch.ticket(token)
    if job.state == Job.State.RUNNING:
        token.status = Status.RUNNING
        watch(batch, task, token, job)
    batch.add_job(job)
    batch.tell(observers.JobOpened(task.pk, job.pk, job.station, job.kind))
    return job


def open_question(turn: DecisionContext, purpose: Purpose, kind: str, question: dict[str, Any]) -> Job:
    """Open the job of a question about the outcome of `turn.job`. It is not a visit and always starts under the
    version that asks."""
    batch, task, token = turn.batch, turn.task, turn.token
    job = Job(
        id=batch.next_job_id(),
        task=task,
        token=token,
        pinned_id=turn.judge,
        station=token.station,
        kind=kind,
        purpose=purpose,
        question=question,
        question_digest=payload.digest(question),
        visit=turn.job.visit,
        created_at=batch.now,
    )
    if not _handed_on(batch, task, job, turn.claim, turn.after):
        batch.ticket(token)
    batch.add_job(job)
    return job


def _handed_on(batch: Batch, task: Task, job: Job, claim: Claim | None, after: Job | None) -> bool:
    """Whether the worker that holds the lease of `after` goes straight on with this job: of the branches of a fork with
    the first that it may take. The others are for whoever comes first."""
    if not claim or not after or after.worker_id != claim.worker or batch.went_on(after):
        return False
    if not takes(claim, task, job):
        return False
    if not batch.agents.may_start(task, job):
        return False
    job.lease_key, job.worker_id = uuid.uuid4(), claim.worker
    job.state, job.started_at = Job.State.RUNNING, job.created_at
    batch.hand_lease_on(HandOn(after.pk, job.pk, job.lease_key, claim.seconds))
    return True


def takes(claim: Claim, task: Task, job: Job) -> bool:
    """Whether a worker with this claim may do this job. A question for a machine needs nothing that its station
    needs: any worker that can answer takes it. A hook and a tool are programs, and run where the station's work
    runs."""
    if not claim.works_in(task.project_id):
        return False
    owner = task.project.owner.key
    if job.purpose != Purpose.STATION and job.kind in MACHINES:
        return claim.serves(owner) and job.kind in claim.answers
    station = versions.by_id(job.pinned_id).station(job.station)
    if job.purpose != Purpose.STATION:
        return claim.takes(owner, station.labels) and runs_programs(claim.offers)
    names_secrets, lacks = _asks(job.pinned_id, job.station, claim.offers)
    brought = Reach.of(task).brings(station) if names_secrets else frozenset()
    if not claim.takes(owner, station.labels) or (lacks and not claim.can(owner, station, brought)):
        return False
    return claim.has(IMAGES) or not environments.asked(
        task.project_id, versions.by_id(job.pinned_id), station, task.inputs
    )


@lru_cache(maxsize=4096)
def _asks(version: int, key: str, offers: frozenset[str] | None) -> tuple[bool, bool]:
    """Of a station: whether it names secrets, and whether it needs what a worker that offers this has not."""
    station = versions.by_id(version).station(key)
    lacks = offers is not None and any(need not in offers for need in needs(station))
    return bool(secrets(station.work)), lacks
