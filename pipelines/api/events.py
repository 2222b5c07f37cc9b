"""Events over HTTP, as JSON lines in the format of `docs/events.md`, streamed: of a task, a line, a project."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from ninja import Router
from pydantic import AwareDatetime

from pipelines import access
from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, TASK
from pipelines.api.problems import ProblemOut
from pipelines.engine.commands.export import exported, exported_all
from pipelines.models import Task
from pipelines.web.shell.streaming import ndjson

router = Router(tags=["events"])
ERRORS = dict.fromkeys((400, 401, 403, 404), ProblemOut)


@router.get(TASK + "/events", summary="Events of a task", response={200: None, **ERRORS})
def of_task(
    request: Request, owner: str, project: str, line: str, task: str, transitions: bool = False
) -> StreamingHttpResponse:
    """One event a line, oldest first (law §9). `transitions`: only those that lead from one state to another."""
    who = request.auth
    found = access.get_task(who, owner, project, line, task)
    access.require(who, "view", found.project)
    return ndjson(exported(found, transitions=transitions))


@router.get(PROJECT + "/lines/{line}/events", summary="Events of a line", response={200: None, **ERRORS})
def of_line(
    request: Request,
    owner: str,
    project: str,
    line: str,
    since: AwareDatetime | None = None,
    transitions: bool = False,
) -> StreamingHttpResponse:
    """Task after task by number, each in its sequence. `since`: events from then on."""
    who = request.auth
    found = access.get_line(who, owner, project, line)
    access.require(who, "view", found.project)
    return _many(Task.objects.filter(line=found), since, transitions)


@router.get(PROJECT + "/events", summary="Events of a project", response={200: None, **ERRORS})
def of_project(
    request: Request,
    owner: str,
    project: str,
    since: AwareDatetime | None = None,
    transitions: bool = False,
) -> StreamingHttpResponse:
    """Task after task by number, each in its sequence. `since`: events from then on."""
    who = request.auth
    found = access.get_project(who, owner, project)
    access.require(who, "view", found)
    return _many(Task.objects.filter(project=found), since, transitions)


def _many(tasks: QuerySet[Task], since: datetime | None, transitions: bool) -> StreamingHttpResponse:
    return ndjson(exported_all(tasks, since=since, transitions=transitions))
