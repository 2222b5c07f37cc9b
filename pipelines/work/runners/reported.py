"""What reports of a runner are judged by: the runner itself, its jobs with their tasks, and what was stored for them.
One statement finds all of it, however many they are. All jobs of a task are found by its tokens: an index of jobs by
task has those of stations alone."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pipelines.engine.core import rows
from pipelines.engine.core.statements import Statement, send
from pipelines.errors import NotFound
from pipelines.models import ApiToken, Job, RunnerResult, Task, Worker
from pipelines.work.runners import claiming
from pipelines.work.transport.protocol import HandedOver

READ = """
    WITH runner AS MATERIALIZED (SELECT * FROM pipelines_worker WHERE id = %s AND token_id = %s),
      its AS MATERIALIZED (
        SELECT task.* FROM pipelines_task task
        WHERE task.id = ANY(ARRAY(SELECT task_id FROM pipelines_job WHERE id = ANY(%s::bigint[])))
          AND task.project_id = (SELECT project_id FROM runner)),
      work AS MATERIALIZED (
        SELECT job.* FROM pipelines_job job
        WHERE job.id = ANY(%s::bigint[]) AND job.task_id IN (SELECT id FROM its))
    SELECT (SELECT to_json(runner)::text FROM runner),
      (SELECT json_agg(its)::text FROM its),
      (SELECT json_agg(work)::text FROM work),
      (SELECT json_agg(json_build_array(left_by.job_id, left_by.name, left_by.media_type, blob.digest, blob.size)
                       ORDER BY left_by.id)::text
       FROM pipelines_artifact left_by JOIN pipelines_blob blob ON blob.digest = left_by.blob_id
       WHERE left_by.job_id = ANY(ARRAY(SELECT id FROM work))),
      (SELECT json_agg(result)::text FROM pipelines_runnerresult result
       WHERE result.job_id = ANY(ARRAY(SELECT id FROM work))),
      (SELECT json_agg(json_build_array(ran.task_id, ran.pinned_id))::text
       FROM (SELECT DISTINCT job.task_id, job.pinned_id
             FROM pipelines_token token JOIN pipelines_job job ON job.token_id = token.id
             WHERE token.task_id = ANY(ARRAY(SELECT id FROM its))) ran),
      ARRAY(SELECT DISTINCT job_id FROM pipelines_runnerupload WHERE job_id = ANY(ARRAY(SELECT id FROM work)))"""


@dataclass(frozen=True)
class Reported:
    """`jobs`: those that this runner has, or had, with task, project and owner. `artifacts`: what each handed over, in
    the order in which it came; `results`: what was found in its files, by job and lease; `ran`: under which versions of
    the line each task was; `uploads`: jobs for which files lie here."""

    runner: Worker
    jobs: dict[int, Job]
    artifacts: dict[int, list[HandedOver]]
    results: dict[tuple[int, uuid.UUID], RunnerResult]
    ran: dict[int, set[int]]
    uploads: frozenset[int]

    def job(self, job_id: int) -> Job:
        """:raises NotFound: it never was this runner's"""
        if job_id not in self.jobs:
            raise NotFound
        return self.jobs[job_id]


def read(token: ApiToken, runner_id: uuid.UUID, job_ids: Collection[int]) -> Reported:
    """:raises NotFound: this runner never registered with this token"""
    wanted = list(job_ids)
    [[found]] = send([Statement(READ, [runner_id, token.pk, wanted, wanted])])
    runner, its, work, artifacts, results, ran, uploads = found
    if runner is None:
        raise NotFound(_("This runner is not registered."))
    worker = rows.read(Worker, json.loads(runner))
    return Reported(
        runner=worker,
        jobs=_jobs(token, worker, its, work),
        artifacts=_artifacts(artifacts),
        results={
            (each["job_id"], uuid.UUID(each["lease"])): rows.read(RunnerResult, each)
            for each in json.loads(results or "[]")
        },
        ran=_ran(ran),
        uploads=frozenset(uploads),
    )


def _jobs(token: ApiToken, runner: Worker, tasks: str | None, jobs: str | None) -> dict[int, Job]:
    known = {row["id"]: rows.read(Task, row) for row in json.loads(tasks or "[]")}
    project = token.project
    assert project is not None  # a runner's token has one
    for task in known.values():
        task.project = project
    found = {}
    for row in json.loads(jobs or "[]"):
        job = rows.read(Job, row)
        job.task = known[job.task_id]
        if claiming.was_its(runner, job):
            found[job.pk] = job
    return found


def _artifacts(said: str | None) -> dict[int, list[HandedOver]]:
    found: dict[int, list[HandedOver]] = {}
    for job, *handed in json.loads(said or "[]"):
        found.setdefault(job, []).append(HandedOver(*handed))
    return found


def _ran(said: str | None) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for task, version in json.loads(said or "[]"):
        found.setdefault(task, set()).add(version)
    return found
