"""A task that has ended is retried or followed up as a new task, linked to it (law §12, “Terminal is final”)."""

from __future__ import annotations

from functools import partial

from pipelines.engine.commands.inputs import expired_file_names
from pipelines.engine.commands.submit import (
    DESCRIPTION,
    create_first_token_and_job,
    repository_protection_problems,
    save_task_with_next_number,
)
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves import escalations
from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.models import ENDED, Event, Job, Purpose, Task
from pipelines.queries import versions
from pipelines.queries.retention import refuse_deleted_files
from pipelines.routing.decide.steps.targets import RETRY_LIMIT
from pipelines.routing.document.ends import FEEDBACK

REQUESTED = ("title", "requester_id", "requested_by", "requesters", "priority", "labels", "inputs")
"""What a task that follows another has of it."""
COPIED = (*REQUESTED, "description", "due_at", "context", "variables", "unreadable")
FOLLOW_UP = "follow_up"
"""The trigger of a task that an end started."""
IN_A_ROW = 2
"""So many tasks follow each other by themselves; the next one waits for a person."""


def start_retry_task(task_id: int, *, station: str, actor: Actor, reason: str = "") -> Task:
    """Start a new task at `station`, which the ended task visited; "" means the last one visited. It runs on the same
    version, for the same requester, with the inputs and context of the ended task, and from a later station than the
    first with its files. It inherits no approvals and no counters: every gate on the way is asked again.

    Raises NotFound, Conflict (it has not ended; another retry from there is open; a file of it has expired), Purged
    (its files are deleted), Invalid (path `station`)."""
    old = first_row_or_raise_not_found(
        Task.objects.select_related("project", "line", "pinned").filter(pk=task_id)
    )
    if old.status not in ENDED:
        raise Conflict(f"{old.name} has not ended yet. Retry the station in the task itself.")
    refuse_deleted_files(old)
    # Files are not copied but named by their content: what has expired cannot be inherited
    gone = expired_file_names(
        versions.parsed_line_by_version_id(old.pinned_id).inputs, old.inputs, old.project_id
    )
    if gone:
        raise Conflict(f"{', '.join(gone)} has expired. Start a new task and upload it again.")
    last = _job_to_retry(old, station)
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
    return run_in_transaction(
        partial(_start_retry_once, old, new, station, actor, payload.checked_text(reason, "reason"))
    )


def start_follow_up_task(task_id: int) -> Task | None:
    """Start the task that follows this one, where the end that it reached says so: once, for the same people, at the
    first station, with its inputs and the feedback of its last station (AEEF E13). None: nothing is to follow.

    Raises Conflict (it was started already, the line is archived, or its repository is protected from it)."""
    old = Task.objects.select_related("project", "line__live", "pinned").get(pk=task_id)
    line = versions.parsed_line_by_version_id(old.pinned_id)
    jobs = Job.objects.filter(token__task=old, purpose=Purpose.STATION, state=Job.State.DONE)
    last = jobs.order_by("-ended_at", "-pk").first()
    outcome = (last.outcome if last else None) or {}
    feedback = str(outcome.get("feedback") or "")
    # law §8: with `feedback` only where the last outcome left some
    if line.end(old.end).follow_up == FEEDBACK and not feedback.strip():
        return None
    # The live version, unless its start form asks for something else.
    live = old.line.live
    pinned = (
        live if live and versions.parsed_line_by_version_id(live.pk).inputs == line.inputs else old.pinned
    )
    start = versions.parsed_line_by_version_id(pinned.pk).start
    heading = f"{old.name} ended as {line.end(old.end).label or old.end}:"
    # law §8: what the last outcome said is its feedback, else its comment, else its summary.
    text = feedback or str(outcome.get("comment") or outcome.get("summary") or old.reason)
    new = Task(
        project=old.project,
        line=old.line,
        pinned=pinned,
        follows=old,
        description=f"{old.description}\n\n{heading}\n{text}".strip()[:DESCRIPTION],
        visits={start: 1},
        **{name: getattr(old, name) for name in REQUESTED},
    )
    if problems := repository_protection_problems(pinned, old.inputs):
        raise Conflict(f"{old.name} is not followed up: {problems[0]}")
    return run_in_transaction(partial(_start_follow_up_once, old, new, start))


def _start_follow_up_once(old: Task, new: Task, start: str) -> Task:
    # house §2: the counter of numbers is locked before any task.
    task = save_task_with_next_number(new)
    # The lock on the ended task lets one at a time look for another.
    Batch.of_tasks(old.pk)
    if Event.objects.filter(task__follows=old, seq=1, trigger=FOLLOW_UP).exists():
        raise Conflict(f"{old.name} is followed up already.")
    batch = create_first_token_and_job(task, start, ENGINE, trigger=FOLLOW_UP, follows=new.followed_name)
    # law §8: two may follow each other so; the next one is held and escalated.
    if _count_follow_up_chain(old) >= IN_A_ROW:
        line = versions.parsed_line_by_version_id(task.pinned_id)
        role = next((budget.role for budget in line.named_budgets_in_force if budget.kind == "restart"), None)
        reason = (
            f"{IN_A_ROW} tasks followed each other by themselves. Find out why before the next one works."
        )
        task = batch.tasks[task.pk]
        opened = escalations.open_escalation(
            batch, task, line, RETRY_LIMIT, ENGINE, role=role or "", reason=reason
        )
        # Fail closed: else each would end as the last one did, without end.
        escalations.ACTIONS["block"](batch, task, opened)
        batch.derive_and_set_task_status(task)
    batch.flush()
    return batch.tasks[task.pk]


def _count_follow_up_chain(task: Task | None) -> int:
    """Count the tasks up to this one that ends started, one after the other; no more than matter."""
    number = 0
    while task and number < IN_A_ROW and task.events.filter(seq=1, trigger=FOLLOW_UP).exists():
        task, number = task.follows, number + 1
    return number


def retryable_station_keys(task: Task) -> list[str]:
    """The stations where an ended task can be retried, last visited first: those it visited that its version still
    has. A station last visited by a branch of a fork is left out, because a join behind it would wait for branches
    that do not exist: the retry starts before the fork."""
    # Without branches of a fork: a join behind them would wait for others that the new task has not
    return list(_last_job_by_visited_station(task))


def _last_job_by_visited_station(task: Task) -> dict[str, Job]:
    known = versions.parsed_line_by_version_id(task.pinned_id).stations_by_key
    jobs = task.jobs.filter(purpose=Purpose.STATION).select_related("token").order_by("-pk")
    last: dict[str, Job] = {}
    for job in jobs:
        last.setdefault(job.station, job)
    return {key: job for key, job in last.items() if key in known and job.token.parent_id is None}


def _job_to_retry(old: Task, station: str) -> Job:
    visits = _last_job_by_visited_station(old)
    if not station and visits:
        return next(iter(visits.values()))
    if station not in visits:
        why = "is not a station that this task visited outside a fork"
        raise Invalid.at("station", why, f"Name one of {', '.join(visits)}.")
    return visits[station]


def _start_retry_once(old: Task, new: Task, station: str, actor: Actor, reason: str) -> Task:
    # house §2: the counter of numbers is locked before any task.
    task = save_task_with_next_number(new)
    # The lock on the ended task lets one retry at a time look for another.
    locked = Batch.of_tasks(old.pk).tasks[old.pk]
    # Behind the lock: its files may have been deleted meanwhile
    refuse_deleted_files(locked)
    open_retries = Task.objects.filter(
        follows=locked, retry_of__station=station, fork_event=None, ended_at=None
    )
    # The new task has its row already.
    open_one = open_retries.exclude(pk=task.pk)
    other = open_one.select_related("project").first()
    if other is not None:
        raise Conflict(f"{other.name} already retries this task from there.")
    batch = create_first_token_and_job(
        task, station, actor, trigger="retry", follows=new.followed_name, reason=reason
    )
    batch.flush()
    return batch.tasks[task.pk]
