"""Enqueue queue jobs inside the caller's transaction: a rollback drops them (house §2).

Not through `procrastinate.contrib.django.app`: inside a worker process that app's connector is replaced by one with
connections of its own, and the job would be committed whether or not the move is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from procrastinate import exceptions, jobs, manager
from procrastinate.contrib.django.django_connector import DjangoConnector, wrap_exceptions
from procrastinate.types import JSONDict

from pipelines.models import Job, Purpose
from pipelines.models.plumbing.compiled_queries import fetch_prepared
from pipelines.models.plumbing.django_internals import connection_and_error_context
from pipelines.ports.queue_tasks import DRIVE_TOKEN, TASKS
from pipelines.ports.terms import DRIVE, EVALUATE, QUICK
from pipelines.routing.document.kinds import is_instant


class _Connector(DjangoConnector):
    """Writes queue jobs by a statement that the server keeps. Its answer is their ids, and nothing else is asked."""

    @wrap_exceptions()
    def execute_query_all(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        return [{"id": pk} for (pk,) in fetch_prepared(query, self._wrap_json(arguments))]


_manager = manager.JobManager(_Connector())


def queue_of_open_job(job: Job | None) -> str:
    """Return the queue of the ticket of a token whose open job this is."""
    return DRIVE if job is None else queue_of_kind(job.purpose, job.kind)


def queue_of_kind(purpose: str, kind: str) -> str:
    """Return where the tickets of such jobs lie."""
    if purpose != Purpose.STATION:
        return EVALUATE
    return QUICK if is_instant(kind) else DRIVE


def enqueue_token_tickets(
    tokens: Iterable[int], queue: str = DRIVE, *, not_before: datetime | None = None
) -> None:
    """A ticket for each of these tokens."""
    tickets: list[JSONDict] = [{"token_id": token} for token in tokens]
    enqueue_queue_jobs(DRIVE_TOKEN, queue, *tickets, not_before=not_before)


def enqueue_queue_jobs(
    task: str,
    queue: str,
    *arguments: JSONDict,
    not_before: datetime | None = None,
    locks: Sequence[str | None] = (),
) -> None:
    """Insert one queue job of the task named `task` for each of `arguments`, by one statement, on Django's
    connection, with Django's errors: by these a transaction is done again, or the caller is told to try
    again. `locks`: one for each of `arguments`; of jobs with the same one, each waits until those before it are over,
    also while these wait for another try.

    :raises LookupError: no worker would know this task in this queue (`queue_tasks.py`)
    """
    if queue not in TASKS.get(task, ()):
        raise LookupError(f"{task} is no task of the queue {queue}")
    if not arguments:
        return
    new = [
        jobs.Job(
            id=None,
            queue=queue,
            lock=lock,
            queueing_lock=None,
            task_name=task,
            task_kwargs=dict(values),
            scheduled_at=not_before,
        )
        for values, lock in zip(arguments, locks or [None] * len(arguments), strict=True)
    ]
    try:
        _manager.batch_defer_jobs(new)
    except exceptions.ConnectorException as error:
        # This context makes errors of psycopg Django's.
        with connection_and_error_context()[1]:
            raise (error.__cause__ or error) from None
