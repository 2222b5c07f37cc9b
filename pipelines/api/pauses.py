"""Pausing and resuming a task, a station, a line or a project over HTTP (law §17)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from pipelines import engine
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, LINE, PROJECT, TASK, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.engine import PauseScope
from pipelines.models import Line, Pause, Project, Task

router = Operations("pauses", CHANGES)


class PauseIn(StrictBody):
    """`stops`: take running work back; else it ends by itself, and what follows waits."""

    reason: str = ""
    stops: bool = False


class LinePauseIn(PauseIn):
    """`station`: the key of the one that is paused; "": the whole line."""

    station: Annotated[str, Field(max_length=64)] = ""


class LineResumeIn(StrictBody):
    station: Annotated[str, Field(max_length=64)] = ""


class PauseOut(BaseModel):
    """A pause in force. `line`, `station` and `task` are empty where it is of more than that."""

    line: str
    station: str
    task: str
    by: str
    reason: str
    stops: bool
    since: datetime

    @classmethod
    def of(cls, pause: Pause) -> PauseOut:
        return cls(
            line=pause.line.key if pause.line else "",
            station=pause.station,
            task=pause.task.name if pause.task else "",
            by=str(pause.by),
            reason=pause.reason,
            stops=pause.stops,
            since=pause.since,
        )


@router.get(PROJECT + "/pauses", response=list[PauseOut], summary="List what is paused")
def index(request: Request, project: Project) -> list[PauseOut]:
    rows = (
        project.pauses.filter(ended_at=None).select_related("by", "line", "task__project").order_by("since")
    )
    return [PauseOut.of(row) for row in rows]


@router.post(PROJECT + "/pause", response=PauseOut, summary="Pause a project")
@action_required("settings")
def pause_project(request: Request, project: Project, payload: PauseIn) -> PauseOut:
    return _pause_scope(request, PauseScope(project), payload)


@router.post(PROJECT + "/resume", response={204: None}, summary="Resume a project")
@action_required("settings")
def resume_project(request: Request, project: Project) -> None:
    engine.resume(PauseScope(project), user=require_person(request.auth))


@router.post(LINE + "/pause", response=PauseOut, summary="Pause a line, or one station of it")
@action_required("operate")
def pause_line(request: Request, line: Line, payload: LinePauseIn) -> PauseOut:
    return _pause_scope(request, PauseScope(line.project, line, payload.station), payload)


@router.post(LINE + "/resume", response={204: None}, summary="Resume a line, or one station of it")
@action_required("operate")
def resume_line(request: Request, line: Line, payload: LineResumeIn) -> None:
    engine.resume(PauseScope(line.project, line, payload.station), user=require_person(request.auth))


@router.post(TASK + "/pause", response=PauseOut, summary="Pause a task")
@action_required("operate")
def pause_task(request: Request, task: Task, payload: PauseIn) -> PauseOut:
    return _pause_scope(request, PauseScope(task.project, task=task), payload)


@router.post(TASK + "/resume", response={204: None}, summary="Resume a task")
@action_required("operate")
def resume_task(request: Request, task: Task) -> None:
    engine.resume(PauseScope(task.project, task=task), user=require_person(request.auth))


def _pause_scope(request: Request, scope: PauseScope, payload: PauseIn) -> PauseOut:
    made = engine.pause(scope, user=require_person(request.auth), reason=payload.reason, stops=payload.stops)
    return PauseOut.of(made)
