"""Work on a command for many tasks: each is planned, and later done, by itself, in a transaction of its own."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, transaction

from pipelines import access, engine
from pipelines.engine import Actor, MovePlan, PauseScope
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.errors import Conflict, Invalid, Refused
from pipelines.lines.bulk_commands.operation import NO_PERMISSION, Action, Result, State
from pipelines.models import BulkCommand, BulkEntry, GateVisit, Job, Task, Token, Vote
from pipelines.ports import clock, queue
from pipelines.ports.queue_tasks import BULK, WORK_ON_BULK
from pipelines.queries.history import latest_change_sentence

log = structlog.get_logger(__name__)
SECONDS = 2.0
"""Of one ticket: then others have their turn."""
PLANNED_AT_ONCE = 20
BREAKS = "It breaks a promise of its line or repository. Move it by itself to confirm that."
FAULT = "Something went wrong with this task, and nothing of it was changed. The log of the runner says what."
NOWHERE = "This task has no position to move. It may have ended."


def work_on_bulk_command(command_id: UUID, seconds: float = SECONDS) -> None:
    """Plan or do what is next, for a while; what is left gets a ticket of its own. Idempotent: several at once, or
    again after a crash, do nothing twice."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        command = BulkCommand.objects.select_related("by").filter(pk=command_id).first()
        # A person may stop it at any time
        if command is None or command.state not in (State.PLANNING, State.RUNNING):
            return
        if command.state == State.PLANNING:
            has_more = _try_to_plan_next_entries(command)
        else:
            has_more = run_in_transaction(partial(_try_to_do_next_entry, command))
        if not has_more:
            _enter_next_state_if_nothing_left(command)
            return
    queue.enqueue_queue_jobs(WORK_ON_BULK, BULK, {"command_id": str(command_id)})


def _enter_next_state_if_nothing_left(command: BulkCommand) -> None:
    """Go on to the next state once nothing is left of this one: another worker may still be at the last entry."""
    left = Result.CHOSEN if command.state == State.PLANNING else Result.PLANNED
    if command.entries.filter(result=left).exists():
        return
    row = BulkCommand.objects.filter(pk=command.pk, state=command.state)
    if command.state == State.PLANNING:
        row.update(state=State.PLANNED)
    else:
        row.update(state=State.FINISHED, ended_at=clock.now())


# Planning


def _try_to_plan_next_entries(command: BulkCommand) -> bool:
    """Plan the next few entries, or return False."""
    entries = list(
        command.entries.filter(result=Result.CHOSEN)
        .select_related("task__project__owner", "task__line")
        .order_by("pk")[:PLANNED_AT_ONCE]
    )
    versions = _version_by_position_id([entry.position for entry in entries])
    left_behind = {} if command.moves_positions else _open_work_by_task([entry.task_id for entry in entries])
    for entry in entries:
        entry.command = command
        entry.version = versions.get(entry.position, 0)
        entry.plan = left_behind.get(entry.task_id, {})
        entry.detail = _plan_entry_and_return_refusal_or_empty(entry)
        entry.result = Result.REFUSED if entry.detail else Result.PLANNED
        entry.at = clock.now() if entry.detail else None
        # Not where it was stopped meanwhile
        command.entries.filter(pk=entry.pk, result=Result.CHOSEN).update(
            version=entry.version, plan=entry.plan, detail=entry.detail, result=entry.result, at=entry.at
        )
    return bool(entries)


def _plan_entry_and_return_refusal_or_empty(entry: BulkEntry) -> str:
    """Do it and take it back; return why it is refused, or "". What a move does is noted in its plan."""
    command, task = entry.command, entry.task
    if not access.is_permitted(command.by, "operate", task.project):
        return NO_PERMISSION
    try:
        if command.moves_positions:
            if not entry.version:
                return NOWHERE
            plan = engine.plan_move(
                entry.position, user=command.by, token_version=entry.version, to=command.to
            )
            entry.plan = _plan_fields(plan)
            return BREAKS if plan.breaks else ""
        run_in_transaction(partial(_do_and_roll_back, _engine_call_of_entry(entry)))
    except Refused as refusal:
        return _refusal_text(refusal)
    # The database itself: the ticket comes again
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # One such task must not keep the others waiting
        log.exception("bulk_entry_failed", command=str(entry.command_id), task=entry.task_id)
        return FAULT
    return ""


def _do_and_roll_back(act: Callable[[], Any]) -> None:
    with transaction.atomic():
        act()
        transaction.set_rollback(True)


def _plan_fields(plan: MovePlan) -> dict[str, Any]:
    return {
        "places": [list(place) for place in plan.places],
        "end": plan.end,
        "closes": list(plan.closes),
        "votes": plan.votes,
        "work": [plan.work] if plan.work else [],
    }


def _version_by_position_id(positions: Sequence[int]) -> dict[int, int]:
    return dict(Token.objects.filter(pk__in=[pk for pk in positions if pk]).values_list("pk", "version"))


def _open_work_by_task(tasks: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return what runs and what is asked in these tasks: the stations at work, the gates, and the votes so far."""
    by_task: defaultdict[int, dict[str, Any]] = defaultdict(lambda: {"work": [], "closes": [], "votes": 0})
    running = Job.objects.filter(task__in=tasks, state=Job.State.RUNNING)
    for task, station in running.order_by("pk").values_list("task", "station"):
        by_task[task]["work"].append(station)
    visits = GateVisit.objects.filter(task__in=tasks, state=GateVisit.State.OPEN)
    for task, gate in visits.order_by("pk").values_list("task", "gate"):
        by_task[task]["closes"].append(gate)
    votes = Vote.objects.filter(visit__task__in=tasks, visit__state=GateVisit.State.OPEN)
    for task in votes.values_list("visit__task", flat=True):
        by_task[task]["votes"] += 1
    return dict(by_task)


# Doing


def _try_to_do_next_entry(command: BulkCommand) -> bool:
    """Do the next entry and note what came of it, in one transaction; return False where none is left."""
    rows = BulkEntry.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        command=command, command__state=State.RUNNING, result=Result.PLANNED
    )
    entry = rows.select_related("task__project__owner", "task__line").order_by("pk").first()
    if entry is None:
        return False
    entry.command = command
    entry.detail = _do_entry_and_return_refusal_or_empty(entry)
    entry.result = Result.REFUSED if entry.detail else Result.DONE
    entry.at = clock.now()
    entry.save(update_fields=["detail", "result", "at"])
    return True


def _do_entry_and_return_refusal_or_empty(entry: BulkEntry) -> str:
    # Anew for each: a membership may end meanwhile
    if not access.is_permitted(entry.command.by, "operate", entry.task.project):
        return NO_PERMISSION
    try:
        # What is refused half-way leaves nothing
        with transaction.atomic():
            _engine_call_of_entry(entry)()
    except Conflict as refusal:
        return _sentence_of_conflict(entry, refusal)
    except Refused as refusal:
        return _refusal_text(refusal)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # One such task must not keep the others waiting
        log.exception("bulk_entry_failed", command=str(entry.command_id), task=entry.task_id)
        return FAULT
    return ""


def _sentence_of_conflict(entry: BulkEntry, refusal: Conflict) -> str:
    """Say who was faster, where the position moved after it was planned."""
    if entry.position and entry.version != _version_by_position_id([entry.position]).get(entry.position):
        entry.task.refresh_from_db(fields=["seq", "status", "ended_at"])
        return f"Something else came first. {latest_change_sentence(entry.task)}"
    return refusal.detail


def _engine_call_of_entry(entry: BulkEntry) -> Callable[[], Any]:
    command, task = entry.command, entry.task
    if command.moves_positions:
        return partial(
            engine.move_or_retry_by_hand,
            entry.position,
            user=command.by,
            token_version=entry.version,
            to=command.to,
            reason=command.reason,
        )
    return ACTS[Action(command.action)](command, task)


def _pause_call(command: BulkCommand, task: Task) -> Callable[[], Any]:
    scope = PauseScope(task.project, task=task)
    return partial(engine.pause, scope, user=command.by, reason=command.reason, stops=command.stops)


def _resume_call(command: BulkCommand, task: Task) -> Callable[[], Any]:
    return partial(engine.resume, PauseScope(task.project, task=task), user=command.by)


def _cancel_call(command: BulkCommand, task: Task) -> Callable[[], Any]:
    return partial(engine.cancel, task.pk, actor=Actor.person(command.by), reason=command.reason)


ACTS = {Action.PAUSE: _pause_call, Action.RESUME: _resume_call, Action.CANCEL: _cancel_call}


def _refusal_text(refusal: Refused) -> str:
    return refusal.message if isinstance(refusal, Invalid) else refusal.detail
