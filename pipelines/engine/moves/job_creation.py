"""Opening the next job of a token (law §1, Job); of a visit that a join judges, `joins` makes one that is over."""

from __future__ import annotations

import uuid
from typing import Any

from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext
from pipelines.engine.core.expected_times import set_late_due_time
from pipelines.engine.core.lease_transfers import LeaseTransfer
from pipelines.engine.core.unassigned import MANUAL, UNLEASED, WAIT, start_job_without_worker
from pipelines.models import Escalation, Job, Priority, Purpose, Status, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.ports.leases import WorkOffer
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import environments, queued_work, versions
from pipelines.routing.decide.effects import (
    BLOCK,
    Hold,
    hold_until_circle_is_resolved,
    hold_until_escalation_resolved,
    hold_until_tasks_complete,
    nest_holds,
)
from pipelines.routing.document.kinds import IMAGES, is_done_by_people, is_unattended
from pipelines.routing.document.line import Station


def create_job_of_current_station(
    batch: Batch,
    task: Task,
    token: Token,
    *,
    feedback: str = "",
    asked: str = "",
    offer: WorkOffer | None = None,
    after: Job | None = None,
) -> Job:
    """The job of the station at which the token stands now; its visit is already counted in `task.visits`.

    Work that no worker does runs at once, without a lease. A driver that continues directly (`offer`, from the job
    `after` whose lease it holds) gets the job already leased if it may take it; otherwise a ticket is written.
    Nothing starts while the task's work is held.
    """
    station = versions.parsed_line_by_version_id(task.pinned_id).station(token.station)
    job = bulk_rows.new_row(
        Job,
        id=batch.next_job_id(),
        task=task,
        token=token,
        pinned_id=task.pinned_id,
        station=station.key,
        kind=job_kind(station),
        agent=station.agent,
        visit=task.visits[station.key],
        rank=Priority(task.priority).rank,
        feedback=feedback,
        asked=asked,
        created_at=batch.now,
    )
    token.status = Status.QUEUED
    # law §8, §12: nothing is begun before dependencies are completed, or while an escalation or a deadlock holds.
    wait = _hold_of_work_starting_now(batch, task, token.station)
    if wait:
        token.status, token.wait = Status.HELD, wait
    elif job.kind in UNLEASED:
        start_job_without_worker(batch, task, job)
    # house §2: no ticket for a job that its worker has already, since each costs a NOTIFY.
    elif not _try_hand_lease_on(batch, task, job, offer, after):
        batch.add_ticket(token)
    if job.state == Job.State.RUNNING:
        token.status = Status.RUNNING
        set_late_due_time(batch, task, token, job)
    batch.add_job(job)
    return job


def _hold_of_work_starting_now(batch: Batch, task: Task, station: str) -> Hold:
    """The `wait` for work that would start now: dependencies that are not completed, open escalations whose action
    `block` is in force, circles of tasks that wait for each other, and pauses; empty if nothing holds it."""
    others = batch.unmet.get(task.pk)
    pauses = (
        [pause.hold_by_this_pause for pause in batch.pauses_in_force_at(task.pk, station)]
        if batch.pauses
        else []
    )
    return nest_holds(
        [
            *([hold_until_tasks_complete(others)] if others else []),
            *_holds_of_blocking_escalations(task),
            *(hold_until_circle_is_resolved(pk) for pk in batch.circles.get(task.pk, ())),
            *pauses,
        ]
    )


def _holds_of_blocking_escalations(task: Task) -> list[Hold]:
    """No query if no escalation is open."""
    if not task.escalations:
        return []
    line = versions.parsed_line_by_version_id(task.pinned_id)
    escalations = Escalation.objects.filter(task=task.pk, state=Escalation.State.OPEN).order_by(
        "opened_at", "pk"
    )
    return [
        hold_until_escalation_resolved(str(row.pk), row.trigger)
        for row in escalations
        if (row.breached_at and BLOCK in row.on_breach) or BLOCK in line.escalation_rule(row.trigger).at_once
    ]


def create_question_job(
    context: DecisionContext, purpose: Purpose, kind: str, question: dict[str, Any]
) -> Job:
    """Open the job of a question about the outcome of `turn.job`. It is not a visit and always starts under the
    version that asks."""
    batch, task, token = context.batch, context.task, context.token
    job = Job(
        id=batch.next_job_id(),
        task=task,
        token=token,
        pinned_id=context.judge_version_id,
        station=token.station,
        kind=kind,
        purpose=purpose,
        question=question,
        question_digest=payload.json_digest(question),
        visit=context.job.visit,
        rank=Priority(task.priority).rank,
        created_at=batch.now,
    )
    if not _try_hand_lease_on(batch, task, job, context.offer, context.job_whose_worker_reported):
        batch.add_ticket(token)
    batch.add_job(job)
    return job


def _try_hand_lease_on(
    batch: Batch, task: Task, job: Job, offer: WorkOffer | None, after: Job | None
) -> bool:
    """Return whether the worker that has the lease of `after` goes straight on with this job: of the branches
    of a fork with the first that it may take. The others are for whoever comes first."""
    # A lease goes on to one job alone: of the branches of a fork to the first
    if (
        not offer
        or not after
        or after.worker_id != offer.worker
        or batch.open_job_that_got_lease_of_or_none(after)
    ):
        return False
    if not does_offer_cover_job(offer, task, job):
        return False
    # Behind all other reasons: it locks the row of the agent until the end of the move
    if not batch.agents.agent_may_start_job(task, job):
        return False
    job.lease_key, job.worker_id = uuid.uuid4(), offer.worker
    job.state, job.started_at = Job.State.RUNNING, job.created_at
    batch.hand_lease_on(LeaseTransfer(after.pk, job.pk, job.lease_key, offer.seconds))
    return True


def does_offer_cover_job(offer: WorkOffer, task: Task, job: Job) -> bool:
    """Return whether a worker with this offer may do this job."""
    owner, work = task.project.owner.key, (job.pinned_id, job.station, job.purpose, job.kind)
    if not offer.works_in_project(task.project_id):
        return False
    if not queued_work.worker_may_do_job(
        offer,
        owner,
        work,
        lambda station: ValueScope.scope_of_task(task).needs_met_by_stored_secrets(station),
    ):
        return False
    if job.purpose != Purpose.STATION or offer.meets_need(IMAGES):
        return True
    # Last, since it looks up the repository of the task
    line = versions.parsed_line_by_version_id(job.pinned_id)
    return not environments.offers_required_of_worker(
        task.project_id, line, line.station(job.station), task.inputs
    )


def job_kind(station: Station) -> str:
    """The kind of the station's jobs: work of a person is `manual`, whatever kind the line names."""
    return MANUAL if is_done_by_people(station) else WAIT if is_unattended(station) else station.kind
