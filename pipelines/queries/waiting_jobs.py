"""The stations' jobs of a project that wait for a runner, for an engine that starts a runner for each
(docs/runners.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Q
from django.db.models.functions import Now

from pipelines.models import Job, Project, Purpose, Repository
from pipelines.queries import versions
from pipelines.queries.environments import git_workspace_of_work_or_none
from pipelines.queries.queued_work import QueuedWork, queued_work_in_project
from pipelines.routing.document.kinds import kind_executes

MOST_COUNTED: Final = 10_000
"""The longest queue that is counted."""


@dataclass(frozen=True)
class ClaimableJob:
    """`image`: of the repository's environment, "" for none; `resources`: what the station's programs may use
    together."""

    job: int
    task: str
    line: str
    station: str
    kind: str
    attempt: int
    priority: str
    labels: tuple[str, ...]
    image: str
    resources: dict[str, int]
    since: datetime


class WaitingJobs(NamedTuple):
    """`total`: how many wait, up to `MOST_COUNTED`; `first`: the first of them, in the order in which they are
    given."""

    total: int
    first: list[ClaimableJob]


def waiting_jobs(project: Project, labels: Collection[str] | None, limit: int) -> WaitingJobs:
    """Return what a runner may have: with these labels, or with any. The statements are the same for any number."""
    fitting = {
        (work.version, work.station): work
        for work in queued_work_in_project(project.pk)
        if _is_for_runners(work, labels)
    }
    if not fitting:
        return WaitingJobs(0, [])
    ready = Q(not_before=None) | Q(not_before__lte=Now())
    rows = (
        Job.objects.filter(
            ready,
            state=Job.State.QUEUED,
            task__project=project,
            purpose=Purpose.STATION,
            token__status="queued",
            # Each for itself, as an index has them: which belong together is compared below
            pinned__in={version for version, _station in fitting},
            station__in={station for _version, station in fitting},
        )
        .order_by("rank", "created_at", "pk")
        .values_list("pk", "pinned_id", "station")[:MOST_COUNTED]
    )
    fitting_ids = [pk for pk, version, station in rows if (version, station) in fitting]
    jobs = Job.objects.filter(pk__in=fitting_ids[:limit]).select_related("task__line", "task__project__owner")
    images = _images_by_repository(project, fitting.values())
    listed = [
        _waiting_job(job, fitting[job.pinned_id, job.station], images)
        # Rows that are asked for by their ids come in any order
        for job in sorted(jobs, key=lambda job: (job.rank, job.created_at, job.pk))
    ]
    return WaitingJobs(len(fitting_ids), listed)


def required_labels(job: Job) -> tuple[str, ...]:
    """The labels that a runner needs for it."""
    return tuple(sorted(versions.parsed_line_by_version_id(job.pinned_id).station(job.station).labels))


def is_for_runners(job: Job) -> bool:
    """True if a runner may be started for this job: the work of a station that runs programs, which waits."""
    return job.state == Job.State.QUEUED and any(
        (work.version, work.station) == (job.pinned_id, job.station)
        for work in queued_work_in_project(job.task.project_id)
        if _is_for_runners(work, None)
    )


def _is_for_runners(work: QueuedWork, labels: Collection[str] | None) -> bool:
    """True for a station that runs programs: what needs none any worker does at once, or the server's alone."""
    if work.purpose != Purpose.STATION or not kind_executes(work.kind):
        return False
    return labels is None or set(work.published_station.labels) <= set(labels)


def _images_by_repository(project: Project, works: Iterable[QueuedWork]) -> dict[str, str]:
    """{name or address of a repository: the image of its environment}; {} where no line works in one."""
    if not any(git_workspace_of_work_or_none(work) is not None for work in works):
        return {}
    images: dict[str, str] = {}
    # The newest first, so that of several with one address the first connected stays
    for repository in Repository.objects.filter(project=project).order_by("-pk"):
        image = str(repository.prepare.get("image") or "")
        # A line names its repository, and an input may hold the address of one
        images |= {repository.name: image, repository.address: image}
    return images


def _waiting_job(job: Job, work: QueuedWork, images: dict[str, str]) -> ClaimableJob:
    station, workspace = work.published_station, git_workspace_of_work_or_none(work)
    repository = ""
    if workspace is not None:
        input_text = str(job.task.inputs.get(workspace.input_key) or "")
        repository = input_text if workspace.input_key else workspace.repository
    return ClaimableJob(
        job=job.pk,
        task=job.task.name,
        line=job.task.line.key,
        station=job.station,
        kind=job.kind,
        attempt=job.attempt,
        priority=job.task.priority,
        labels=required_labels(job),
        image=images.get(repository, ""),
        resources=dict(station.resources or {}),
        since=job.created_at,
    )
