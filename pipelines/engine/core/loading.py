"""What one transaction begins with, in one round trip: the tasks, locked in the order of their ids; then, by a second
statement, which sees them as they are once they are locked, the clock and all that belongs to them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.models import Due, Job, Owner, Project, Task, Token
from pipelines.models.plumbing import rows
from pipelines.models.plumbing.compiled import Question, array
from pipelines.models.plumbing.statements import Statement, send

# A job never changes its task, so finding the tasks needs no lock.
OF_JOBS = "ARRAY(SELECT DISTINCT task_id FROM pipelines_job WHERE id = ANY(%s::bigint[]))"
OF_TASKS = array("bigint")
LOCK = """SELECT to_json(task)::text FROM pipelines_task task WHERE id = ANY({of})
          ORDER BY id FOR NO KEY UPDATE"""
# An open job has a living token, and by that it is found: a task's open jobs, not the installation's.
READ = """
    WITH mine AS MATERIALIZED (SELECT {of} AS ids),
      living AS MATERIALIZED (
        SELECT token.* FROM pipelines_token token
        WHERE task_id = ANY((SELECT ids FROM mine)::bigint[]) AND ended_at IS NULL),
      work AS (
        SELECT job.* FROM pipelines_job job
        WHERE token_id = ANY(ARRAY(SELECT id FROM living)) AND state <> 'done'
        UNION ALL
        SELECT job.* FROM pipelines_job job WHERE id = ANY(%s::bigint[]) AND state = 'done')
    SELECT clock_timestamp(),
      ARRAY(SELECT nextval(pg_get_serial_sequence('pipelines_job', 'id')) FROM generate_series(1, %s)),
      (SELECT json_agg(living)::text FROM living),
      (SELECT json_agg(work)::text FROM work),
      (SELECT json_agg(json_build_array(to_json(project), to_json(owner)))::text
       FROM pipelines_project project JOIN pipelines_owner owner ON owner.id = project.owner_id
       WHERE project.id IN (SELECT project_id FROM pipelines_task WHERE id = ANY((SELECT ids FROM mine)::bigint[]))),
      (SELECT json_agg(due)::text FROM pipelines_due due WHERE task_id = ANY((SELECT ids FROM mine)::bigint[])),
      (SELECT json_object_agg(task_id, names)::text FROM (
         SELECT waits.task_id, json_object_agg('WI-' || project.key || '-' || other.number, other.status
                                                ORDER BY other.id) names
         FROM pipelines_dependency waits JOIN pipelines_task other ON other.id = waits.on_id
           JOIN pipelines_project project ON project.id = other.project_id
         WHERE waits.task_id = ANY((SELECT ids FROM mine)::bigint[]) AND other.status <> 'completed'
         GROUP BY waits.task_id) unmet)"""
SPARE = 3
"""Ids for more jobs than those that are reported: a fork opens several."""
IDS = "SELECT nextval(pg_get_serial_sequence('pipelines_job', 'id')) FROM generate_series(1, %s)"
MORE = 8
"""For each task, once those are used up."""
AWAITED = """
    SELECT on_id FROM pipelines_dependency WHERE on_id = ANY(%s::bigint[])
    UNION
    SELECT party.task_id
    FROM pipelines_deadlock_tasks party JOIN pipelines_deadlock found ON found.id = party.deadlock_id
    WHERE party.task_id = ANY(%s::bigint[]) AND found.state = 'open'"""

Unmet = dict[int, dict[str, str]]
"""Of tasks that wait for others: the names of those that are not completed, with their states."""


@dataclass(frozen=True)
class Loaded:
    """`clock`: the time after the lock; `job_ids`: for as many jobs as will be opened at least; `jobs`: the open ones,
    and those that were asked for; `besides`: the answers to what was asked besides, after the lock."""

    clock: datetime
    job_ids: Iterator[int]
    tasks: list[Task]
    tokens: list[Token]
    jobs: list[Job]
    dues: list[Due]
    unmet: Unmet
    besides: list[list[Any]]


def of_tasks(ids: Collection[int], besides: Sequence[Question[Any]] = ()) -> Loaded:
    return _load(OF_TASKS, list(ids), [], besides)


def of_jobs(ids: Collection[int]) -> Loaded:
    return _load(OF_JOBS, list(ids), list(ids))


def _load(of: str, which: list[int], jobs: list[int], besides: Sequence[Question[Any]] = ()) -> Loaded:
    lock = Statement(LOCK.format(of=of), [which])
    read = Statement(READ.format(of=of), [which, jobs, len(jobs) + SPARE])
    more = [Statement(each.text, each.parameters) for each in besides]
    locked, [(clock, job_ids, tokens, work, projects, dues, unmet)], *found = send([lock, read, *more])
    known = {}
    for project, owner in json.loads(projects or "[]"):
        known[project["id"]] = rows.read(Project, project)
        known[project["id"]].owner = rows.read(Owner, owner)
    tasks = [rows.read(Task, json.loads(text)) for (text,) in locked]
    for task in tasks:
        task.project = known[task.project_id]
    return Loaded(
        clock=clock,
        job_ids=iter(job_ids),
        tasks=tasks,
        tokens=[rows.read(Token, row) for row in json.loads(tokens or "[]")],
        jobs=[rows.read(Job, row) for row in json.loads(work or "[]")],
        dues=[rows.read(Due, row) for row in json.loads(dues or "[]")],
        unmet={int(pk): names for pk, names in json.loads(unmet or "{}").items()},
        besides=[each.read(answer) for each, answer in zip(besides, found, strict=True)],
    )


def awaited(tasks: Collection[int]) -> frozenset[int]:
    """Those of these, which are locked, for which others wait or that are party to an open deadlock."""
    [found] = send([Statement(AWAITED, [list(tasks), list(tasks)])])
    return frozenset(pk for (pk,) in found)


def more_job_ids(count: int) -> Iterator[int]:
    [found] = send([Statement(IDS, [count])])
    return (pk for (pk,) in found)
