"""Permission to call a tool: an agent at work asks, a person answers once, and time that runs out denies (law §18)."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.models import Job, ToolPermission, User
from pipelines.ports.observers import PermissionAnswered, PermissionAsked
from pipelines.routing.document.work.tool_permissions import command_text_or_none

State = ToolPermission.State
MOST_OPEN: Final = 20
"""Calls of one attempt that may wait at once."""
LONGEST_CALL: Final = 64 * 1024
"""Characters of a call that a person can be shown: nobody allows what they did not see."""
EXCERPT: Final = 300
NOT_WAITING: Final = "The agent no longer waits for this answer."


@dataclass(frozen=True)
class PermissionCall:
    """`key`: which call of the attempt it is. `arguments`: without secrets; `digest`: of the exact ones, with the
    tool."""

    key: uuid.UUID
    tool: str
    arguments: dict[str, Any]
    digest: str


def ask_tool_permission(
    job_id: int, lease: uuid.UUID, call: PermissionCall, *, minutes: int
) -> ToolPermission:
    """Ask people about a call, or return the answer to one that was asked before: the same key names the same call.
    What nobody answered in time is denied. Raises Conflict (the attempt is over, or another call has this key),
    Invalid (too long, or too many)."""
    return run_in_transaction(partial(_ask_tool_permission, job_id, lease, call, minutes))


def _ask_tool_permission(job_id: int, lease: uuid.UUID, call: PermissionCall, minutes: int) -> ToolPermission:
    batch = Batch.of_jobs([job_id])
    job = _job_running_under_lease_or_none(batch, job_id, lease)
    if job is None:
        raise Conflict(NOT_WAITING)
    row = ToolPermission.objects.filter(job_id=job_id, key=call.key).first()
    if row is None:
        return _create_permission_question(batch, job, lease, call, minutes)
    # An answer counts for the call that people saw, whoever sends its key again
    if row.lease_key != lease or (row.tool, row.digest) != (call.tool, call.digest):
        raise Conflict("Another call was asked about under this key.")
    if row.state == State.OPEN and row.due_at <= batch.now:
        _store_permission_answer(batch, job, row, State.DENIED, ENGINE, "Nobody answered in time.")
    return row


def _create_permission_question(
    batch: Batch, job: Job, lease: uuid.UUID, call: PermissionCall, minutes: int
) -> ToolPermission:
    text = payload.checked_text(call_text(call.tool, call.arguments), "arguments", LONGEST_CALL)
    waiting = ToolPermission.objects.filter(job_id=job.pk, lease_key=lease, state=State.OPEN)
    # A row past its time stays open until it is asked about again, and waits for nobody
    if waiting.filter(due_at__gt=batch.now).count() >= MOST_OPEN:
        raise Invalid.at("key", f"more than {MOST_OPEN} calls wait for an answer")
    task = batch.tasks[job.task_id]
    row = ToolPermission.objects.create(
        task=task,
        job=job,
        lease_key=lease,
        key=call.key,
        tool=call.tool,
        arguments=call.arguments,
        digest=call.digest,
        requested_at=batch.now,
        due_at=batch.now + timedelta(minutes=minutes),
    )
    # Events are kept and passed on: the whole call stays in its row
    excerpt: dict[str, Any] = {"call": text[:EXCERPT]}
    _append_event(batch, job, row, "permission.asked", f"worker:{job.worker_id}", excerpt)
    batch.emit(PermissionAsked(row.pk, task.pk, task.project_id, job.station, text[:EXCERPT], batch.now))
    batch.flush()
    return row


def answer_tool_permission(
    pk: int, *, user: User, digest: str, allow: bool, reason: str = ""
) -> ToolPermission:
    """Answer for a person; `digest` is that of the call as they saw it. Raises NotFound, Invalid (a denial without a
    reason), Conflict (somebody was faster, the agent waits no longer, or it is another call)."""
    clean_reason = payload.checked_text(reason, "reason").strip()
    # The agent is told it, and would otherwise try the same again
    if not allow and not clean_reason:
        raise Invalid.at("reason", "is missing or blank", "Say what the agent should do instead.")
    state = State.ALLOWED if allow else State.DENIED
    return run_in_transaction(partial(_answer_tool_permission, pk, user, digest, state, clean_reason))


def _answer_tool_permission(
    pk: int, user: User, digest: str, state: ToolPermission.State, reason: str
) -> ToolPermission:
    # Only what it takes to lock: the row itself is read behind the lock
    job_id = first_row_or_raise_not_found(
        ToolPermission.objects.filter(pk=pk).values_list("job_id", flat=True)
    )
    batch = Batch.of_jobs([job_id])
    # Behind the lock of its task: of two people the first counts
    row = ToolPermission.objects.select_related("answered_by").get(pk=pk)
    if row.state != State.OPEN:
        by = str(row.answered_by or "")
        raise Conflict(f"This call was {row.state} already.", by=by, at=row.answered_at)
    job = _job_running_under_lease_or_none(batch, job_id, row.lease_key)
    if job is None or row.due_at <= batch.now:
        raise Conflict(NOT_WAITING)
    # A page that shows another call cannot allow this one
    if row.digest != digest:
        raise Conflict("This is another call than the one that you saw. Reload the page.")
    row.answered_by = user
    _store_permission_answer(batch, job, row, state, Actor.person(user), reason)
    return row


def _job_running_under_lease_or_none(batch: Batch, job_id: int, lease: uuid.UUID) -> Job | None:
    """Return the job while the attempt under this lease works on it."""
    job = batch.jobs.get(job_id)
    return job if job is not None and job.state == Job.State.RUNNING and job.lease_key == lease else None


def _store_permission_answer(
    batch: Batch, job: Job, row: ToolPermission, state: ToolPermission.State, actor: Actor, reason: str
) -> None:
    row.state, row.answered_at, row.reason = state, batch.now, reason
    row.save(update_fields=["state", "answered_at", "answered_by", "reason"])
    task = batch.tasks[job.task_id]
    _append_event(batch, job, row, "permission.answered", actor, {"answer": str(state), "reason": reason})
    batch.emit(PermissionAnswered(row.pk, task.pk, batch.now))
    batch.flush()


def _append_event(
    batch: Batch, job: Job, row: ToolPermission, kind: str, actor: Actor | str, data: dict[str, Any]
) -> None:
    data |= {"permission": row.pk, "tool": row.tool, "digest": row.digest}
    task, token = batch.tasks[job.task_id], batch.tokens[job.token_id]
    batch.append_event(task, kind, actor, token=token, source=job.station, **data)


def call_text(tool: str, arguments: dict[str, Any]) -> str:
    """Return the call as one text that leaves nothing out: the command where it only runs one, else all arguments."""
    # A `description` is the agent's own word, and could play the command down
    others = {key for key in arguments if key not in ("command", "cmd", "description")}
    command = command_text_or_none(arguments)
    if command is not None and not others:
        return f"{tool}: {command}"
    return f"{tool} {json.dumps(arguments, ensure_ascii=False, indent=2)}"
