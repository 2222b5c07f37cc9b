"""Events as a download: JSON lines of a task, a line or a project (docs/events.md)."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from django.views.decorators.http import require_safe

from pipelines.engine.commands.export import export_task, export_tasks
from pipelines.models import Line, Project, Task
from pipelines.web.shell.page import SignedIn, in_project, on_line, on_task
from pipelines.web.shell.streaming import ndjson


def _only_transitions(request: SignedIn) -> bool:
    return request.GET.get("transitions") == "true"


@on_task("view")
@require_safe
def of_task(request: SignedIn, task: Task) -> StreamingHttpResponse:
    rows = export_task(task, transitions=_only_transitions(request))
    return ndjson(rows, f"{task.name}-events.jsonl")


@on_line("view")
@require_safe
def of_line(request: SignedIn, line: Line) -> StreamingHttpResponse:
    rows = export_tasks(Task.objects.filter(line=line), transitions=_only_transitions(request))
    return ndjson(rows, f"{line.key}-events.jsonl")


@in_project("view")
@require_safe
def of_project(request: SignedIn, project: Project) -> StreamingHttpResponse:
    rows = export_tasks(Task.objects.filter(project=project), transitions=_only_transitions(request))
    return ndjson(rows, f"{project.key}-events.jsonl")
