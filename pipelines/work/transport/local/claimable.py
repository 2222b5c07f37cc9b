"""The queued jobs that a worker may claim, the most urgent first. What it may not do is left out by the statement, so
that no number of such jobs stands before those that it may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from pipelines.engine.core.unassigned import UNLEASED
from pipelines.models import Purpose
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports import queue
from pipelines.ports.leases import WorkOffer
from pipelines.ports.vault.value_lookup import needs_met_by_stored_secrets_of_each
from pipelines.queries import environments, queued_work
from pipelines.queries.queued_work import QueuedWork
from pipelines.routing.document.kinds import IMAGES
from pipelines.work.statements import CLAIMABLE, UNATTENDED


def claimable_jobs(
    offer: WorkOffer, room: Mapping[str, int], only_job_id: int | None = None
) -> dict[int, str]:
    """Return {job: queue} of what this offer takes, in order, of each queue as many as there is room for.
    `only_job_id`: no other job, however many more urgent ones wait."""
    return _select_jobs(offer, room, CLAIMABLE, only_job_id=only_job_id)


def unattended_jobs(offer: WorkOffer, room: Mapping[str, int], older_than: float) -> dict[int, str]:
    """Return the same of jobs that wait longer than so many seconds without a ticket."""
    return _select_jobs(offer, room, UNATTENDED, older_than)


def _select_jobs(
    offer: WorkOffer, room: Mapping[str, int], text: str, *values: float, only_job_id: int | None = None
) -> dict[int, str]:
    waiting = (
        queued_work.queued_work_everywhere()
        if offer.project is None
        else queued_work.queued_work_in_project(offer.project)
    )
    fitting = _fitting_rows(offer, [row for row in waiting if row.kind not in UNLEASED], room)
    work = [{**row, "sole_job": only_job_id} for row in fitting]
    if not work:
        return {}
    remaining, jobs = dict(room), dict[int, str]()
    for job, name in execute_all_and_fetch([Statement(text, [*values, orjson.dumps(work).decode()])])[0]:
        if remaining[name] > 0:
            remaining[name] -= 1
            jobs[job] = name
    return jobs


def _fitting_rows(
    offer: WorkOffer, waiting: Sequence[QueuedWork], room: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the statement: the stations whose jobs this offer takes."""
    rows = [
        (row, name)
        for row in waiting
        if room.get(name := queue.queue_of_kind(row.purpose, row.kind), 0) > 0
        and queued_work.worker_may_do_work(offer, row)
    ]
    # What is stored is looked up once for all, and only where it makes a difference.
    in_doubt = [row for row, _name in rows if queued_work.offer_depends_on_secrets(offer, row)]
    stored = needs_met_by_stored_secrets_of_each([(row.reach, row.published_station) for row in in_doubt])
    refused = {
        row
        for row, secrets in zip(in_doubt, stored, strict=True)
        if not queued_work.worker_may_do_work(offer, row, secrets)
    }
    in_repositories = {
        row.project for row, _name in rows if environments.git_workspace_of_work_or_none(row) is not None
    }
    images = None
    if in_repositories and not offer.meets_need(IMAGES):
        images = environments.ImageRepositories.of_projects(in_repositories)
    for row, name in rows:
        if row in refused or (images and images.all_need_images(row)):
            continue
        field = images.input_deciding_image_need(row) if images else ""
        yield {
            "version": row.version,
            "station": row.station,
            "purpose": row.purpose,
            "kind": row.kind,
            "agent": row.published_station.agent if row.purpose == Purpose.STATION else "",
            "project": row.project,
            "queue": name,
            "most": room[name],
            "input": field,
            "refused": sorted(images.by_input[row.project]) if images and field else [],
        }
