"""Problems that the checks of a completed task still report although its line delivers and it delivered
nothing: nobody was asked about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.models import Job, Purpose, Status, Task
from pipelines.queries import versions
from pipelines.queries.failure_causes import FailureCause, failure_cause_by_run_id, has_failed_station_run
from pipelines.queries.observed_facts import fact_groups, findings_words
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.sentences.names import station_name


@dataclass(frozen=True, slots=True)
class UnresolvedFindings:
    """Station that reports problems. `finding_count` in words, "" where it failed without counting; `cause`: what
    its log says then."""

    station: str
    finding_count: str
    cause: FailureCause | None


def unresolved_runs_of_undelivered_task(task: Task, jobs: Iterable[Job]) -> list[Job]:
    """Return the last run of each station that failed or counted findings. A failure because there are no tests
    is left out."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    if task.status != Status.COMPLETED or not any(station.kind == DELIVER.key for station in line.stations):
        return []
    last = {
        job.station: job for job in sorted(jobs, key=lambda job: job.pk) if job.purpose == Purpose.STATION
    }
    # What was delivered has been judged at the gates before it
    if any(job.kind == DELIVER.key for job in last.values()):
        return []
    return [
        job
        for job in last.values()
        if _finding_counts(job) or (has_failed_station_run(job) and not _has_no_tests(job))
    ]


def unresolved_findings_of_runs(task: Task, jobs: Iterable[Job]) -> list[UnresolvedFindings]:
    """Return what each of these stations reports, in words."""
    line, runs = (
        versions.parsed_line_by_version_id(task.pinned_id),
        unresolved_runs_of_undelivered_task(task, jobs),
    )
    failed = failure_cause_by_run_id(runs)
    return [
        UnresolvedFindings(
            station_name(line, job.station), findings_words(_finding_counts(job)), failed.get(job.pk)
        )
        for job in runs
    ]


def _finding_counts(job: Job) -> dict[str, int]:
    counts = fact_groups(job.outcome).get("findings", {})
    return dict(counts) if counts.get("total") else {}


def _has_no_tests(job: Job) -> bool:
    return fact_groups(job.outcome).get("tests", {}).get("suites") == 0
