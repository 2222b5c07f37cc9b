"""Pausing and resuming a task, a station, a line or a project (law §17): a hold with a scope. Each task of it is
held, and let go, by a due time of its own, under its own lock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.due_times import ESCALATION_DUE, TASK_DUE, is_clock_paused, pauses_stopping_clock
from pipelines.engine.core.transaction import PauseSpan, run_in_transaction
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.core.values import Actor
from pipelines.engine.moves.pausing import add_hold, hold_token_and_its_job, release_matching_holds
from pipelines.engine.statements import (
    LOCK_COUNTER,
    PAUSE_DEADLINES,
    PAUSE_DUE_TIMES,
    RESUME_DUE_TIMES,
    WAKE_SCOPE,
)
from pipelines.errors import Conflict, Invalid
from pipelines.models import (
    ENDED,
    Due,
    Escalation,
    GateVisit,
    Job,
    Line,
    Pause,
    Project,
    Purpose,
    Status,
    Task,
    Token,
    User,
)
from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.ports import audit, due_notices, observers
from pipelines.queries import versions
from pipelines.routing.decide.effects import PAUSED, Hold

PAUSE, RESUME_PAUSED = "pause", "unpause"
"""Kinds of due times: at once, for each task of the scope; their key has the id of the pause, who did it, and of
what."""


@dataclass(frozen=True)
class PauseScope:
    """Scope of a pause: a project, a line of it, one station of the line (its key), or one task."""

    project: Project
    line: Line | None = None
    station: str = ""
    task: Task | None = None

    @property
    def scope_key(self) -> str:
        if self.task is not None:
            return f"task:{self.task.pk}"
        if self.line is None:
            return "project"
        return f"station:{self.line.pk}:{self.station}" if self.station else f"line:{self.line.pk}"

    @property
    def title(self) -> str:
        """Name of what is paused, as the record of administrative acts names it."""
        if self.task is not None:
            return self.task.name
        if self.line is None:
            return self.project.name or self.project.key
        return f"{self.line.name}: {self.station}" if self.station else self.line.name


def pause(scope: PauseScope, *, user: User, reason: str = "", stops: bool = False) -> Pause:
    """Hold all work of the scope until somebody resumes it. `stops`: running work is taken back, and begins anew then;
    else it ends by itself. Raises Invalid (path `station`: the live version has none of this key), Conflict (it is
    paused already: by whom; its task has ended)."""
    live = scope.line.live if scope.line and scope.station else None
    if scope.station and (
        live is None or scope.station not in versions.parsed_line_by_version_id(live.pk).stations_by_key
    ):
        raise Invalid.at("station", "is not a station of the live version")
    return run_in_transaction(partial(_pause, scope, user, payload.checked_text(reason, "reason"), stops))


def _pause(scope: PauseScope, user: User, reason: str, stops: bool) -> Pause:
    at, row = _lock_project_counter_and_find_pause(scope)
    if row is not None:
        raise Conflict(f"It is paused already, by {row.by}.")
    # Nobody could resume it from a page, and nothing is left that it would hold
    if scope.task is not None and Task.objects.filter(pk=scope.task.pk, status__in=ENDED).exists():
        raise Conflict("This task has already ended.")
    row = Pause.objects.create(
        project=scope.project,
        scope=scope.scope_key,
        line=scope.line,
        station=scope.station,
        task=scope.task,
        by=user,
        reason=reason,
        stops=stops,
        since=at,
    )
    _record_in_audit("work.paused", scope, user, at, reason=reason, stops=stops)
    # The tasks follow by due times of their own, each under its own lock (law §17)
    _schedule_due_time_for_tasks_in_scope(scope, PAUSE, at, row.pk, user)
    return row


def resume(scope: PauseScope, *, user: User) -> None:
    """Let the work of the scope go on, unless something else holds it. Due times move by as long as they stood. Raises
    Conflict (it is not paused: somebody was first)."""
    run_in_transaction(partial(_resume, scope, user))


def _resume(scope: PauseScope, user: User) -> None:
    at, row = _lock_project_counter_and_find_pause(scope)
    if row is None:
        raise Conflict("It is not paused. Somebody else may have resumed it.")
    row.ended_at = at
    row.save(update_fields=["ended_at"])
    _record_in_audit("work.resumed", scope, user, at, since=row.since.isoformat())
    _schedule_due_time_for_tasks_in_scope(scope, RESUME_PAUSED, at, row.pk, user)


def _lock_project_counter_and_find_pause(scope: PauseScope) -> tuple[datetime, Pause | None]:
    """Return the time, and the pause of exactly this scope that is in force. The counter of the project is locked, so
    that one of two people is first, and each new task is there when its scope is told, or sees the pause itself."""
    [(at,)] = fetch(LOCK_COUNTER, [scope.project.pk])
    pauses = Pause.objects.filter(project=scope.project, scope=scope.scope_key, ended_at=None)
    return at, pauses.select_related("by").first()


def _record_in_audit(kind: str, scope: PauseScope, user: User, at: datetime, **data: Any) -> None:
    audit.record_administrative_act(
        kind, by=user, at=at, project=scope.project, about=scope.scope_key, name=scope.title, **data
    )


def _schedule_due_time_for_tasks_in_scope(
    scope: PauseScope, kind: str, at: datetime, pause_id: int, user: User
) -> None:
    execute(
        WAKE_SCOPE,
        {
            "kind": kind,
            "key": f"{pause_id}|{Actor.person(user)}|{scope.scope_key.partition(':')[0]}|{scope.station}",
            "at": at,
            "project": scope.project.pk,
            "line": scope.line.pk if scope.line else None,
            "task": scope.task.pk if scope.task else None,
        },
    )
    due_notices.announce_due_times_on_commit()


def hold_work_of_paused_task(batch: Batch, due: Due) -> None:
    """Handle due times of kind `pause`: hold what is covered, and stop its clocks."""
    task, actor = batch.tasks[due.task_id], _pause_actor(due)
    pause = next((span for span in batch.pauses.get(task.pk, ()) if span.id == _pause_id(due)), None)
    if pause is None:
        return
    # Resumed before its turn came, it holds nothing, and its clocks stood still nevertheless.
    if pause.is_in_force:
        for token in batch.living_tokens(task):
            _hold_for_pause(batch, task, token, pause, actor)
    stop_due_times_under_pauses(batch, batch.dues.values(), [pause])
    _record_pause_event(batch, task, "task.paused", due, reason=pause.reason)
    batch.flush()


def _pause_id(due: Due) -> int:
    return int(due.key.partition("|")[0])


def _pause_actor(due: Due) -> str:
    return due.key.split("|")[1]


def _record_pause_event(batch: Batch, task: Task, kind: str, due: Due, **data: Any) -> None:
    _pause, actor, scope, station = due.key.split("|")
    data |= {"station": station} if station else {}
    batch.append_event(task, kind, actor, pause=_pause_id(due), scope=scope, **data)


def _hold_for_pause(batch: Batch, task: Task, token: Token, pause: PauseSpan, actor: Actor | str) -> None:
    job = batch.open_job_or_none(token)
    if (
        token.forked
        or job is None
        or job.purpose != Purpose.STATION
        or pause.station not in ("", token.station)
    ):
        return
    if job.state == Job.State.QUEUED:
        add_hold(batch, task, token, actor, pause.hold_by_this_pause)
    elif pause.stops and job.kind not in UNLEASED and token.status == Status.RUNNING:
        hold_token_and_its_job(batch, task, token, job, actor, pause.hold_by_this_pause)


def release_work_of_unpaused_task(batch: Batch, due: Due) -> None:
    """Handle due times of kind `unpause`: let go of what this pause held, and move what it stopped."""
    task, pause_id, actor = batch.tasks[due.task_id], _pause_id(due), _pause_actor(due)
    _stop_clocks_of_pauses_over_already(batch, task)

    def is_hold_of_this_pause(wait: Hold) -> bool:
        return wait.get(PAUSED) == pause_id

    for token in batch.living_tokens(task):
        release_matching_holds(batch, task, token, actor, is_hold_of_this_pause)
    moved = restart_unpaused_clocks(batch, task)
    _record_pause_event(batch, task, "task.resumed", due, moved=moved)
    batch.flush()


def _stop_clocks_of_pauses_over_already(batch: Batch, task: Task) -> None:
    """Stop the clocks of pauses that are over and whose turn has not come: they would move due times twice."""
    over = {span.id: span for span in batch.pauses.get(task.pk, ()) if not span.is_in_force}
    for row in list(batch.dues.values()):
        # Its turn has not come, and resuming was first: its clocks stop now, or they would move twice
        if row.kind == PAUSE and (span := over.get(_pause_id(row))):
            stop_due_times_under_pauses(batch, batch.dues.values(), [span])
            batch.drop_due_time(PAUSE, task, row.key)


# Due times under a pause: their clock stands still, and goes on when the last pause is over (law §17).


def stop_due_times_under_pauses(batch: Batch, dues: Iterable[Due], pauses: Collection[PauseSpan]) -> None:
    """Stop those clocks that one of these pauses covers: since it began, or since the time was set."""
    stopped = []
    for due in dues:
        if due.paused_at is None and (over := pauses_stopping_clock(batch, due, pauses)):
            due.paused_at = max(due.set_at, min(pause.since for pause in over))
            stopped.append(due)
    if stopped:
        execute(PAUSE_DUE_TIMES, [[due.pk for due in stopped], [due.paused_at for due in stopped]])
        _store_whether_deadlines_are_paused(batch, stopped)


def restart_unpaused_clocks(batch: Batch, task: Task) -> dict[str, str]:
    """Move what no pause covers any more by as long as it was covered. Returns the new instants, by kind and key."""
    going = [
        due for due in batch.dues.values() if due.paused_at is not None and not is_clock_paused(batch, due)
    ]
    if not going:
        return {}
    spans = batch.pauses.get(task.pk, ())
    moved: dict[str, str] = {}
    for due in going:
        shift = paused_duration(due, pauses_stopping_clock(batch, due, spans))
        _shift_displayed_due_times(batch, task, due, shift)
        due.due_at += shift
        moved[f"{due.kind}:{due.key}" if due.key else due.kind] = due.due_at.isoformat()
    execute(RESUME_DUE_TIMES, [[due.pk for due in going], [due.due_at for due in going]])
    _store_whether_deadlines_are_paused(batch, going)
    return moved


def _store_whether_deadlines_are_paused(batch: Batch, dues: Collection[Due]) -> None:
    """Write to tasks and gate visits whether their clocks stand still, and tell those that list them."""
    tasks = list({due.task_id for due in dues})
    execute(PAUSE_DEADLINES, [tasks, tasks])
    for visit in GateVisit.objects.filter(pk__in={due.visit_id for due in dues if due.visit_id}):
        batch.emit(observers.GateDueMoved(visit.pk, visit.task_id, visit.running_due_at))


def paused_duration(due: Due, pauses: Sequence[PauseSpan]) -> timedelta:
    """Return for how long its clock stood still: the time since `paused_at` in which any of these pauses, the earliest
    first, was in force."""
    at, shift = due.paused_at, timedelta()
    assert at is not None
    for pause in pauses:
        begin = max(at, pause.since)
        if pause.ended_at is not None and pause.ended_at > begin:
            shift, at = shift + (pause.ended_at - begin), pause.ended_at
    return shift


def _shift_displayed_due_times(batch: Batch, task: Task, due: Due, shift: timedelta) -> None:
    """Move the instants that people see, and by which lists are sorted."""
    if due.visit_id is not None:
        visit = GateVisit.objects.get(pk=due.visit_id)
        # Reminders before it, and again after it, have other instants: what was overdue before stays so.
        if visit.due_at == due.due_at:
            visit.due_at += shift
            visit.save(update_fields=["due_at"])
    elif due.kind == ESCALATION_DUE:
        for row in Escalation.objects.filter(pk=due.key, due_at__isnull=False):
            row.due_at = _shifted_time_or_none(row.due_at, shift)
            row.save(update_fields=["due_at"])
    elif due.kind == TASK_DUE and task.due_at is not None:
        task.due_at += shift
        batch.mark_task_changed(task, "due_at")


def _shifted_time_or_none(at: datetime | None, shift: timedelta) -> datetime | None:
    return at + shift if at else None
