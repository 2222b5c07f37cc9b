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
    Pause,
    Project,
    Task,
    Token,
    User,
    Worker,
)
from pipelines.models.plumbing import bulk_rows
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.models.plumbing.django_internals import blank_row, set_related
from pipelines.queries.statements import TASK_ROWS

FOLLOWERS = 20


def read_task_rows(task: Task, handoffs: int, linked: int) -> dict[str, Any]:
    """The rows by the names that `TaskView` has for them. `depends_on`: tasks that have to be completed before it does
    any work. `handoffs`, `linked`: how many are read at most."""
    statement = Statement(TASK_ROWS, [task.pk, handoffs, linked, linked, FOLLOWERS, task.pk])
    [[(_id, *texts)]] = execute_all_and_fetch([statement])
    tokens, jobs, events, visits, decisions, artifacts, latest, others, pauses = (
        json.loads(text or "[]") for text in texts
    )
    done = {}
    for job, worker in jobs:
        done[job["id"]] = row = bulk_rows.row_from_json(Job, job)
        set_related(row, "worker", bulk_rows.row_from_json(Worker, worker) if worker else None)
    return {
        "tokens": [_set_task_of_token(task, bulk_rows.row_from_json(Token, token)) for token in tokens],
        "jobs": list(done.values()),
        "events": [bulk_rows.row_from_json(Event, event) for event in events],
        "gate_visits": list(_visit_rows(visits)),
        "decision_ids": decisions,
        "artifacts": list(_artifact_rows(artifacts, done)),
        "handoffs": [bulk_rows.row_from_json(Handoff, handoff) for handoff in latest],
        "pauses": list(_pause_rows(pauses)),
        **_linked_tasks_by_kind_of_link(task.project, others),
    }


def _set_task_of_token(task: Task, token: Token) -> Token:
    token.task = task
    return token


def _visit_rows(records: Any) -> Iterator[GateVisit]:
    for visit, decision, person in records:
        row = bulk_rows.row_from_json(GateVisit, visit)
        set_related(row, "asked_by", bulk_rows.row_from_json(Decision, decision))
        set_related(row, "decided_by", bulk_rows.row_from_json(User, person) if person else None)
        yield row


def _artifact_rows(records: Any, jobs: dict[int, Job]) -> Iterator[Artifact]:
    for artifact, blob in records:
        row = bulk_rows.row_from_json(Artifact, artifact)
        set_related(row, "blob", bulk_rows.row_from_json(Blob, blob))
        set_related(row, "job", jobs[row.job_id])
        yield row


def _pause_rows(records: Any) -> Iterator[Pause]:
    for pause, person in records:
        row = bulk_rows.row_from_json(Pause, pause)
        set_related(row, "by", bulk_rows.row_from_json(User, person))
        yield row


def _linked_tasks_by_kind_of_link(project: Project, records: Any) -> dict[str, list[Task]]:
    """Group them by how they are linked; all are of one project."""
    linked: dict[str, list[Task]] = {"depends_on": [], "needed_by": [], "followed_by": []}
    for other in records:
        kind = other.pop("kind")
        row = blank_row(Task, adding=False)
        vars(row).update(other)
        row.project = project
        linked[kind].append(row)
    return linked
