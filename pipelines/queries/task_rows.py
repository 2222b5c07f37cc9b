"""Rows of one task, read by one statement: what its page shows, and what a hint brings anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pipelines.models import (
    Artifact,
    Blob,
    Decision,
    Event,
    GateVisit,
    Handoff,
    Job,
    Project,
    Task,
    Token,
    User,
    Worker,
)
from pipelines.models.plumbing import rows
from pipelines.models.plumbing.private import blank, link
from pipelines.models.plumbing.statements import Statement, send

# Jobs by the tokens: an index of all jobs by task would cost each move.
ROWS = """
    WITH token AS MATERIALIZED (SELECT * FROM pipelines_token WHERE task_id = %s)
    SELECT task.id,
      (SELECT json_agg(token ORDER BY id)::text FROM token),
      (SELECT json_agg(json_build_array(to_json(job), to_json(worker)) ORDER BY job.id)::text
       FROM pipelines_job job LEFT JOIN pipelines_worker worker ON worker.id = job.worker_id
       WHERE job.token_id IN (SELECT id FROM token)),
      (SELECT json_agg(event ORDER BY seq)::text FROM pipelines_event event WHERE task_id = task.id),
      (SELECT json_agg(json_build_array(
                to_jsonb(visit) - 'evidence',
                to_jsonb(asked) - CASE visit.state WHEN 'open' THEN '{trace}' ELSE '{trace,situation}' END::text[],
                to_jsonb(person) - 'password') ORDER BY opened_at, position)::text
       FROM pipelines_gatevisit visit JOIN pipelines_decision asked ON asked.id = visit.asked_by_id
         LEFT JOIN pipelines_user person ON person.id = visit.decided_by_id WHERE visit.task_id = task.id),
      (SELECT json_agg(id ORDER BY at, id)::text FROM pipelines_decision WHERE task_id = task.id),
      (SELECT json_agg(json_build_array(to_json(artifact), to_json(blob)) ORDER BY artifact.job_id, artifact.name)::text
       FROM pipelines_artifact artifact JOIN pipelines_blob blob ON blob.digest = artifact.blob_id
       WHERE artifact.task_id = task.id),
      (SELECT json_agg(latest ORDER BY at DESC)::text FROM (
         SELECT * FROM pipelines_handoff WHERE task_id = task.id ORDER BY at DESC LIMIT %s) latest),
      (SELECT json_agg(linked ORDER BY number)::text FROM (
         (SELECT 'depends_on' AS kind, id, number, status, title, project_id, retry_of_id FROM pipelines_task
          WHERE id IN (SELECT on_id FROM pipelines_dependency WHERE task_id = task.id) ORDER BY number LIMIT %s)
         UNION ALL
         (SELECT 'needed_by', id, number, status, title, project_id, retry_of_id FROM pipelines_task
          WHERE id IN (SELECT task_id FROM pipelines_dependency WHERE on_id = task.id) ORDER BY number LIMIT %s)
         UNION ALL
         (SELECT 'followed_by', id, number, status, title, project_id, retry_of_id FROM pipelines_task
          WHERE follows_id = task.id ORDER BY number LIMIT %s)) linked)
    FROM pipelines_task task WHERE id = %s"""
FOLLOWERS = 20


def read(task: Task, handoffs: int, linked: int) -> dict[str, Any]:
    """The rows by the names that `TaskView` has for them. `depends_on`: tasks that have to be completed before it does
    any work. `handoffs`, `linked`: how many are read at most."""
    statement = Statement(ROWS, [task.pk, handoffs, linked, linked, FOLLOWERS, task.pk])
    [[(_id, *texts)]] = send([statement])
    tokens, jobs, events, visits, decisions, artifacts, latest, others = (
        json.loads(text or "[]") for text in texts
    )
    done = {}
    for job, worker in jobs:
        done[job["id"]] = row = rows.read(Job, job)
        link(row, "worker", rows.read(Worker, worker) if worker else None)
    return {
        "tokens": [_of(task, rows.read(Token, token)) for token in tokens],
        "jobs": list(done.values()),
        "events": [rows.read(Event, event) for event in events],
        "visits": list(_visits(visits)),
        "decision_ids": decisions,
        "artifacts": list(_artifacts(artifacts, done)),
        "handoffs": [rows.read(Handoff, handoff) for handoff in latest],
        **_linked(task.project, others),
    }


def _of(task: Task, token: Token) -> Token:
    token.task = task
    return token


def _visits(found: Any) -> Iterator[GateVisit]:
    for visit, decision, person in found:
        row = rows.read(GateVisit, visit)
        link(row, "asked_by", rows.read(Decision, decision))
        link(row, "decided_by", rows.read(User, person) if person else None)
        yield row


def _artifacts(found: Any, jobs: dict[int, Job]) -> Iterator[Artifact]:
    for artifact, blob in found:
        row = rows.read(Artifact, artifact)
        link(row, "blob", rows.read(Blob, blob))
        link(row, "job", jobs[row.job_id])
        yield row


def _linked(project: Project, found: Any) -> dict[str, list[Task]]:
    """Group them by how they are linked; all are of one project."""
    linked: dict[str, list[Task]] = {"depends_on": [], "needed_by": [], "followed_by": []}
    for other in found:
        kind = other.pop("kind")
        row = blank(Task, adding=False)
        vars(row).update(other)
        row.project = project
        linked[kind].append(row)
    return linked
