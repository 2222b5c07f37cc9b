"""Facts by which reports of runners of one project are judged: the runner itself, its jobs with their tasks,
and what was stored for them. One statement reads all of it, however many they are. All jobs of a task are
read by its tokens: an index of jobs by task has those of stations alone."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.models import ApiToken, Job, RunnerResult, Task, Worker
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.work.runners import runner_claims
from pipelines.work.statements import READ_REPORTED
from pipelines.work.transport.protocol import HandedOver


@dataclass(frozen=True)
class ReportingRunnerFacts:
    """Facts that are needed to judge the reports of one runner. `jobs`: those that it has or had, with task, project
    and owner; `artifacts`: files handed over, by job; `results`: stored results by job and lease; `ran`:
    versions of the line by task; `uploads`: jobs with stored files."""

    runner: Worker
    jobs: dict[int, Job]
    artifacts: dict[int, list[HandedOver]]
    results: dict[tuple[int, uuid.UUID], RunnerResult]
    ran: dict[int, set[int]]
    uploads: frozenset[int]


@dataclass(frozen=True)
class ReportingRunner:
    """Runner that reports, with its token and the jobs."""

    token: ApiToken
    runner: uuid.UUID
    jobs: Collection[int]


def read_facts_of_reporting_runners(
    project: int, reporters: Sequence[ReportingRunner]
) -> list[ReportingRunnerFacts | None]:
    """Return the facts by which each of these reporters, whose tokens are of this project, is judged; None:
    this runner never registered with this token."""
    job_ids = list({job for reporter in reporters for job in reporter.jobs})
    tokens = list({reporter.token.pk for reporter in reporters})
    arguments = [
        list({reporter.runner for reporter in reporters}),
        tokens,
        project,
        job_ids,
        project,
        job_ids,
    ]
    [[columns]] = execute_all_and_fetch([Statement(READ_REPORTED, arguments)])
    runners, its, work, artifacts, results, ran, uploads = columns
    known = {
        (row["id"], row["token_id"]): bulk_rows.row_from_json(Worker, row)
        for row in json.loads(runners or "[]")
    }
    tasks = {row["id"]: row for row in json.loads(its or "[]")}
    jobs = {row["id"]: row for row in json.loads(work or "[]")}
    left, stored, versions = _artifacts_by_job(artifacts), _results_by_lease(results), _versions_by_task(ran)

    def facts_of_reporting_runner_or_none(reporter: ReportingRunner) -> ReportingRunnerFacts | None:
        # By both: an id that another token registered is told as unknown, as if nobody had it
        runner = known.get((str(reporter.runner), reporter.token.pk))
        if runner is None:
            return None
        own = _own_jobs_of_reporter(reporter, runner, tasks, jobs)
        return ReportingRunnerFacts(runner, own, left, stored, versions, frozenset(uploads))

    return [facts_of_reporting_runner_or_none(reporter) for reporter in reporters]


def _own_jobs_of_reporter(
    reporter: ReportingRunner,
    runner: Worker,
    tasks: dict[int, dict[str, Any]],
    jobs: dict[int, dict[str, Any]],
) -> dict[int, Job]:
    project = reporter.token.project
    assert project is not None  # a runner's token has one
    by_id = {}
    for row in (jobs[pk] for pk in reporter.jobs if pk in jobs):
        job = bulk_rows.row_from_json(Job, row)
        job.task = bulk_rows.row_from_json(Task, tasks[job.task_id])
        # The statement read tasks of this project alone, so the token's row of it serves for all
        job.task.project = project
        if runner_claims.was_ever_job_of(runner, job):
            by_id[job.pk] = job
    return by_id


def _artifacts_by_job(text: str | None) -> dict[int, list[HandedOver]]:
    by_job: dict[int, list[HandedOver]] = {}
    for job, *handed in json.loads(text or "[]"):
        by_job.setdefault(job, []).append(HandedOver(*handed))
    return by_job


def _results_by_lease(text: str | None) -> dict[tuple[int, uuid.UUID], RunnerResult]:
    return {
        (row["job_id"], uuid.UUID(row["lease"])): bulk_rows.row_from_json(RunnerResult, row)
        for row in json.loads(text or "[]")
    }


def _versions_by_task(text: str | None) -> dict[int, set[int]]:
    by_task: dict[int, set[int]] = {}
    for task, version in json.loads(text or "[]"):
        by_task.setdefault(task, set()).add(version)
    return by_task
