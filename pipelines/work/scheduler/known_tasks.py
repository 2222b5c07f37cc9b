"""The check that a worker knows every task whose tickets it would take."""

from __future__ import annotations

from collections.abc import Collection

from procrastinate.contrib.django import app

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.queue_tasks import TASKS
from pipelines.work.statements import UNKNOWN_TICKETS


class UnknownTask(Exception):
    """A ticket of a queue would come to a worker that cannot do it."""


def import_tasks_of_queues(queues: Collection[str]) -> None:
    """Import the modules that define tasks. :raises UnknownTask: one of these queues has a task that none defines"""
    app.perform_import_paths()
    for name, places in TASKS.items():
        served = sorted(places.intersection(queues))
        if served and name not in app.tasks:
            raise UnknownTask(
                f"No module defines the task {name} of the queue {served[0]}."
                " Add the one that does to PROCRASTINATE_IMPORT_PATHS."
            )


def refuse_unknown_waiting_tasks(queues: Collection[str]) -> None:
    """:raises UnknownTask: a ticket waits in one of these queues whose task this release does not have"""
    for task, queue in fetch(UNKNOWN_TICKETS, [list(queues), list(app.tasks)]):
        raise UnknownTask(
            f"The queue {queue} holds the task {task}, which this release of Gateline does not have."
            " Start the release that wrote it."
        )
