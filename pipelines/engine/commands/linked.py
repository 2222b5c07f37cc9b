"""A task that has ended is retried as a new task, linked to it (law §12, “Terminal is final”)."""

from __future__ import annotations

from functools import partial

from pipelines.engine.commands.inputs import expired
from pipelines.engine.commands.submit import begin, numbered
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.errors import Conflict, Invalid
from pipelines.engine.core.transaction import run
from pipelines.engine.core.values import Actor
from pipelines.errors import existing
from pipelines.models import ENDED, Job, Purpose, Task
from pipelines.queries import versions

COPIED = (
    "title",
    "description",
    "requester_id",
    "requested_by",
    "requesters",
    "priority",
    "labels",
    "due_at",
    "inputs",
    "context",
    "variables",
    "unreadable",
)


def retry_ended(task_id: int, *, station: str, actor: Actor, reason: str = "") -> Task:
    """Start a new task at `station`, which the ended task visited; "" means the last one visited. It runs on the same
    version, for the same requester, with the inputs, context and files of the ended task. It inherits no approvals
    and no counters: every gate on the way is asked again.

    Raises NotFound, Conflict (it has not ended; another retry from there is open; a file of it has expired), Invalid
    (path `station`).
    """
    old = existing(Task.objects.select_related("project", "line", "pinned").filter(pk=task_id))
    if old.status not in ENDED:
        raise Conflict(f"{old.name} has not ended yet. Retry the station in the task itself.")
    gone = expired(versions.by_id(old.pinned_id).inputs, old.inputs, old.project_id)
    if gone:
        raise Conflict(f"{', '.join(gone)} has expired. Start a new task and upload it again.")
    last = _last_visit(old, station)
    station = last.station
    new = Task(
        project=old.project,
        line=old.line,
        pinned=old.pinned,
        follows=old,
        retry_of=last,
        visits={station: 1},
        **{name: getattr(old, name) for name in COPIED},
    )
    return run(partial(_retry, old, new, station, actor, payload.text(reason, "reason")))


def stations_to_retry(task: Task) -> list[str]:
    """The stations where an ended task can be retried, last visited first: those it visited that its version still
    has. A station last visited by a branch of a fork is left out, because a join behind it would wait for branches
    that do not exist: the retry starts before the fork."""
    return list(_last_visits(task))


def _last_visits(task: Task) -> dict[str, Job]:
    known = versions.by_id(task.pinned_id).stations_by_key
    jobs = task.jobs.filter(purpose=Purpose.STATION).select_related("token").order_by("-pk")
    last: dict[str, Job] = {}
    for job in jobs:
        last.setdefault(job.station, job)
    return {key: job for key, job in last.items() if key in known and job.token.parent_id is None}


def _last_visit(old: Task, station: str) -> Job:
    visits = _last_visits(old)
    if not station and visits:
        return next(iter(visits.values()))
    if station not in visits:
        why = "is not a station that this task visited outside a fork"
        raise Invalid.at("station", why, f"Name one of {', '.join(visits)}.")
    return visits[station]


def _retry(old: Task, new: Task, station: str, actor: Actor, reason: str) -> Task:
    task = numbered(new)
    # The lock on the ended task lets one retry at a time look for another.
    locked = Batch.of_tasks(old.pk).tasks[old.pk]
    open_one = Task.objects.filter(follows=locked, retry_of__station=station, ended_at=None).exclude(
        pk=task.pk
    )
    other = open_one.select_related("project").first()
    if other is not None:
        raise Conflict(f"{other.name} already retries this task from there.")
    batch = begin(task, station, actor, trigger="retry", follows=new.followed_name, reason=reason)
    batch.flush()
    return batch.tasks[task.pk]
