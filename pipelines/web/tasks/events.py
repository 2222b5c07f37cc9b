"""Events as a download: JSON lines of a task, a line or a project (docs/events.md)."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.engine.commands.export import exported, exported_all
from pipelines.models import Project, Task
from pipelines.web.shell.page import SignedIn, in_project
from pipelines.web.shell.streaming import ndjson


def _only_transitions(request: SignedIn) -> bool:
    return request.GET.get("transitions") == "true"


@in_project("view")
@require_safe
def of_task(request: SignedIn, project: Project, wi: str) -> StreamingHttpResponse:
    found = access.find_task(request.user, project.owner.key, project.key, wi)
    rows = exported(found, transitions=_only_transitions(request))
    return ndjson(rows, f"{found.name}-events.jsonl")


@in_project("view")
@require_safe
def of_line(request: SignedIn, project: Project, line: str) -> StreamingHttpResponse:
    found = access.get_line(request.user, project.owner.key, project.key, line)
    rows = exported_all(Task.objects.filter(line=found), transitions=_only_transitions(request))
    return ndjson(rows, f"{found.key}-events.jsonl")


@in_project("view")
@require_safe
def of_project(request: SignedIn, project: Project) -> StreamingHttpResponse:
    rows = exported_all(Task.objects.filter(project=project), transitions=_only_transitions(request))
    return ndjson(rows, f"{project.key}-events.jsonl")
