"""Events over HTTP, as JSON lines in the format of `docs/events.md`, streamed: of a task, a line, a project."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from pydantic import AwareDatetime

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, TASK, Operations
from pipelines.engine.commands.event_export import export_task, export_tasks
from pipelines.models import Line, Project, Task
from pipelines.web.shell.ndjson import ndjson_response

router = Operations("events")


@router.get(TASK + "/events", summary="Events of a task", response={200: None})
def export_events_of_task(request: Request, task: Task, transitions: bool = False) -> StreamingHttpResponse:
    """Return one event a line, oldest first (law §9). `transitions`: only those that lead from one state to
    another."""
    return ndjson_response(export_task(task, transitions=transitions))


@router.get(PROJECT + "/lines/{line}/events", summary="Events of a line", response={200: None})
def export_events_of_line(
    request: Request,
    line: Line,
    since: AwareDatetime | None = None,
    transitions: bool = False,
) -> StreamingHttpResponse:
    """Task after task by number, each in its sequence. `since`: events from then on."""
    return _events_response(Task.objects.filter(line=line), since, transitions)


@router.get(PROJECT + "/events", summary="Events of a project", response={200: None})
def export_events_of_project(
    request: Request,
    project: Project,
    since: AwareDatetime | None = None,
    transitions: bool = False,
) -> StreamingHttpResponse:
    """Task after task by number, each in its sequence. `since`: events from then on."""
    return _events_response(Task.objects.filter(project=project), since, transitions)


def _events_response(
    tasks: QuerySet[Task], since: datetime | None, transitions: bool
) -> StreamingHttpResponse:
    return ndjson_response(export_tasks(tasks, since=since, transitions=transitions))
