"""Work items over HTTP, in the exchange format of AEEF (docs/events.md): of a task, a line, a project."""

from __future__ import annotations

from typing import Any, Literal

from django.http import StreamingHttpResponse
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, Operations
from pipelines.engine.commands.work_items import exchange_item_of_task, exchange_items_of_tasks
from pipelines.models import Line, Project, Task
from pipelines.web.shell.ndjson import ndjson_response

router = Operations("events")


class StageOut(BaseModel):
    stage: str
    agent: str
    entered_at: str
    exited_at: str | None
    result: Literal["pass", "fail", "escalate"] | None
    handoff_id: str | None
    iteration: int


class WorkItemOut(BaseModel):
    """Times are ISO 8601 in UTC. `current_state`: its station, of a fork all, of an ended one its end."""

    id: str
    title: str
    risk_tier: Literal[1, 2, 3, 4] | None
    data_classification: Literal["public", "internal", "confidential", "restricted"] | None
    current_state: str | None
    current_agent: str | None
    created_at: str
    updated_at: str
    stage_history: list[StageOut]
    rework_count: int
    total_iterations: int
    escalation_history: list[dict[str, Any]]
    trust_levels: dict[str, int]


@router.get(
    PROJECT + "/stages/{line}/tasks/{task}/work-item",
    response=WorkItemOut,
    summary="A task as a work item",
)
def export_work_item_of_task(request: Request, task: Task) -> dict[str, Any]:
    return exchange_item_of_task(task)


@router.get(PROJECT + "/lines/{line}/work-items", response={200: None}, summary="Work items of a line")
def export_work_items_of_line(request: Request, line: Line) -> StreamingHttpResponse:
    """Return one work item a line, by number."""
    return ndjson_response(exchange_items_of_tasks(Task.objects.filter(line=line)))


@router.get(PROJECT + "/work-items", response={200: None}, summary="Work items of a project")
def export_work_items_of_project(request: Request, project: Project) -> StreamingHttpResponse:
    """Return one work item a line, by number."""
    return ndjson_response(exchange_items_of_tasks(Task.objects.filter(project=project)))
