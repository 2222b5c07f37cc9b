"""Pausing and resuming a task, a station, a line or a project (law §17): a hold with a scope. Each task of it is
held, and let go, by a due time of its own, under its own lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.loading import PauseSpan
from pipelines.engine.core.transaction import run
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.core.values import Actor
from pipelines.engine.moves import stopped_clocks
from pipelines.engine.moves.pausing import add_hold, hold, let_go
from pipelines.engine.statements import LOCK_COUNTER, WAKE_SCOPE
from pipelines.errors import Conflict
from pipelines.models import Due, Job, Line, Pause, Project, Purpose, Status, Task, Token, User
from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.ports import audit
from pipelines.routing.decide.holds import PAUSED, Wait

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
    def name(self) -> str:
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
    else it ends by itself. Raises Conflict (it is paused already: by whom)."""
    return run(partial(_pause, scope, user, payload.checked_text(reason, "reason"), stops))


def _pause(scope: PauseScope, user: User, reason: str, stops: bool) -> Pause:
    at, row = _locked(scope)
    if row is not None:
        raise Conflict(f"It is paused already, by {row.by}.")
    row = Pause.objects.create(
        project=scope.project,
        scope=scope.name,
        line=scope.line,
        station=scope.station,
        task=scope.task,
        by=user,
        reason=reason,
        stops=stops,
        since=at,
    )
    _record("work.paused", scope, user, at, reason=reason, stops=stops)
    _wake(scope, PAUSE, at, row.pk, user)
    return row


def resume(scope: PauseScope, *, user: User) -> None:
    """Let the work of the scope go on, unless something else holds it. Due times move by as long as they stood. Raises
    Conflict (it is not paused: somebody was first)."""
    run(partial(_resume, scope, user))


def _resume(scope: PauseScope, user: User) -> None:
    at, row = _locked(scope)
    if row is None:
        raise Conflict("It is not paused. Somebody else may have resumed it.")
    row.ended_at = at
    row.save(update_fields=["ended_at"])
    _record("work.resumed", scope, user, at, since=row.since.isoformat())
    _wake(scope, RESUME_PAUSED, at, row.pk, user)


def _locked(scope: PauseScope) -> tuple[datetime, Pause | None]:
    """Return the time, and the pause of exactly this scope that is in force. The counter of the project is locked, so
    that one of two people is first, and each new task is there when its scope is told, or sees the pause itself."""
    [(at,)] = fetch(LOCK_COUNTER, [scope.project.pk])
    pauses = Pause.objects.filter(project=scope.project, scope=scope.name, ended_at=None)
    return at, pauses.select_related("by").first()


def _record(kind: str, scope: PauseScope, user: User, at: datetime, **data: Any) -> None:
    audit.record(kind, by=user, at=at, project=scope.project, about=scope.name, name=scope.title, **data)


def _wake(scope: PauseScope, kind: str, at: datetime, pause_id: int, user: User) -> None:
    execute(
        WAKE_SCOPE,
        {
            "kind": kind,
            "key": f"{pause_id}|{Actor.person(user)}|{scope.name.partition(':')[0]}|{scope.station}",
            "at": at,
            "project": scope.project.pk,
            "line": scope.line.pk if scope.line else None,
            "task": scope.task.pk if scope.task else None,
        },
    )


def pause_task(batch: Batch, due: Due) -> None:
    """Handle due times of kind `pause`: hold what is covered, and stop its clocks."""
    task, actor = batch.tasks[due.task_id], _actor(due)
    pause = next((span for span in batch.pauses.get(task.pk, ()) if span.id == _pause_id(due)), None)
    if pause is None:
        return
    # Resumed before its turn came, it holds nothing, and its clocks stood still nevertheless.
    if pause.in_force:
        for token in batch.living(task):
            _hold(batch, task, token, pause, actor)
    stopped_clocks.stop(batch, batch.dues.values(), [pause])
    _tell(batch, task, "task.paused", due, reason=pause.reason)
    batch.flush()


def _pause_id(due: Due) -> int:
    return int(due.key.partition("|")[0])


def _actor(due: Due) -> str:
    return due.key.split("|")[1]


def _tell(batch: Batch, task: Task, kind: str, due: Due, **data: Any) -> None:
    _pause, actor, scope, station = due.key.split("|")
    data |= {"station": station} if station else {}
    batch.event(task, kind, actor, pause=_pause_id(due), scope=scope, **data)


def _hold(batch: Batch, task: Task, token: Token, pause: PauseSpan, actor: Actor | str) -> None:
    job = batch.open_job_of(token)
    if (
        token.forked
        or job is None
        or job.purpose != Purpose.STATION
        or pause.station not in ("", token.station)
    ):
        return
    if job.state == Job.State.QUEUED:
        add_hold(batch, task, token, actor, pause.wait)
    elif pause.stops and job.kind not in UNLEASED and token.status == Status.RUNNING:
        hold(batch, task, token, job, actor, pause.wait)


def resume_task(batch: Batch, due: Due) -> None:
    """Handle due times of kind `unpause`: let go of what this pause held, and move what it stopped."""
    task, pause_id, actor = batch.tasks[due.task_id], _pause_id(due), _actor(due)
    _overtake(batch, task)

    def over(wait: Wait) -> bool:
        return wait.get(PAUSED) == pause_id

    for token in batch.living(task):
        let_go(batch, task, token, actor, over)
    moved = stopped_clocks.go_on(batch, task)
    _tell(batch, task, "task.resumed", due, moved=moved)
    batch.flush()


def _overtake(batch: Batch, task: Task) -> None:
    """Stop the clocks of pauses that are over and whose turn has not come: they would move due times twice."""
    over = {span.id: span for span in batch.pauses.get(task.pk, ()) if not span.in_force}
    for row in list(batch.dues.values()):
        if row.kind == PAUSE and (span := over.get(_pause_id(row))):
            stopped_clocks.stop(batch, batch.dues.values(), [span])
            batch.drop_due(PAUSE, task, row.key)
