"""Events as a download: JSON lines of a task, a line or a project (docs/events.md)."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from django.views.decorators.http import require_safe

from pipelines.engine.commands.event_export import export_task, export_tasks
from pipelines.models import Line, Project, Task
from pipelines.web.shell.ndjson import ndjson_response
from pipelines.web.shell.page import SignedInRequest, line_required, project_required, task_required


def _wants_only_transitions(request: SignedInRequest) -> bool:
    return request.GET.get("transitions") == "true"


@task_required("view")
@require_safe
def download_task_events(request: SignedInRequest, task: Task) -> StreamingHttpResponse:
    rows = export_task(task, transitions=_wants_only_transitions(request))
    return ndjson_response(rows, f"{task.name}-events.jsonl")


@line_required("view")
@require_safe
def download_line_events(request: SignedInRequest, line: Line) -> StreamingHttpResponse:
    rows = export_tasks(Task.objects.filter(line=line), transitions=_wants_only_transitions(request))
    return ndjson_response(rows, f"{line.key}-events.jsonl")


@project_required("view")
@require_safe
def download_project_events(request: SignedInRequest, project: Project) -> StreamingHttpResponse:
    rows = export_tasks(Task.objects.filter(project=project), transitions=_wants_only_transitions(request))
    return ndjson_response(rows, f"{project.key}-events.jsonl")
