"""Lines and tasks by their own names, whatever their project: what a person types on a command line."""

from __future__ import annotations

import re

from django.db.models import CharField, Q
from django.db.models.functions import Cast
from ninja import Router
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Caller, Request
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import LineOut, TaskOut, task_out
from pipelines.errors import Conflict, NotFound
from pipelines.models import Line, Task

router = Router(tags=["tasks"])
ERRORS = dict.fromkeys((401, 403), ProblemOut)
# The key of a project may have hyphens, as in WI-web-shop-7: the last digits are the number.
NUMBER = re.compile(r"WI-(?P<project>.+)-\d+", re.ASCII)


class PlacedLineOut(LineOut):
    """A line, and where it is."""

    owner: str
    project: str


class TaskReferenceOut(BaseModel):
    """A task by its number and title."""

    id: str
    title: str
    owner: str
    projectId: str  # noqa: N815  # as in TaskOut


@router.get("/lines", response={200: list[PlacedLineOut], **ERRORS}, summary="All lines", tags=["lines"])
def list_lines_of_all_projects(request: Request) -> list[PlacedLineOut]:
    """List the lines of all projects that the caller may look at and that are not archived."""
    # To see a project is not enough: a token may lack the scope to look at it
    project_ids = [
        project.pk
        for project in access.visible_projects_with_owner(request.auth)
        if access.is_permitted(request.auth, "view", project)
    ]
    visible_lines = Line.objects.filter(project__in=project_ids, project__archived_at=None).select_related(
        "live", "project__owner"
    )
    return [
        PlacedLineOut(**LineOut.of(line).model_dump(), owner=line.project.owner.key, project=line.project.key)
        for line in visible_lines.order_by("project__owner__key", "project__key", "key")
    ]


@router.get(
    "/tasks",
    response={200: list[TaskReferenceOut], **ERRORS},
    summary="Tasks whose number begins so",
)
def list_tasks_whose_number_begins(
    request: Request, begins: str = "", limit: int = 50
) -> list[TaskReferenceOut]:
    """List the tasks of all projects that the caller may look at; the newest first, at most 200."""
    condition = Q()
    projects = [
        project
        for project in access.visible_projects_with_owner(request.auth)
        if access.is_permitted(request.auth, "view", project)
    ]
    for project in projects:
        lead = f"WI-{project.key}-"
        if begins.startswith(lead):
            condition |= Q(project=project, typed__startswith=begins.removeprefix(lead))
        # Not even the project is typed in full: all of its tasks fit.
        elif lead.startswith(begins):
            condition |= Q(project=project)
    if not condition:
        return []
    # As text: what was typed is the beginning of the number in digits.
    matches = Task.objects.annotate(typed=Cast("number", CharField())).filter(condition)
    rows = matches.select_related("project__owner").order_by("-pk")[: min(max(limit, 1), 200)]
    return [
        TaskReferenceOut(
            id=task.name, title=task.title, owner=task.project.owner.key, projectId=task.project.key
        )
        for task in rows
    ]


@router.get(
    "/tasks/{task}",
    response={200: TaskOut, **dict.fromkeys((401, 403, 404, 409), ProblemOut)},
    summary="A task by its number alone",
)
def show_task_by_number(request: Request, task: str, owner: str = "") -> TaskOut:
    """409: projects of several owners have this key; `owner` says which."""
    return task_out(task_by_number(request.auth, task, owner))


def task_by_number(who: Caller, task: str, owner: str = "", action: str = "view") -> Task:
    """Raises NotFound, Conflict, Forbidden."""
    match = NUMBER.fullmatch(task)
    # No project has an empty key: what is no number of a task is not found
    places = access.visible_projects_with_owner(who).filter(key=match["project"] if match else "")
    if owner:
        places = places.filter(owner__key=owner)
    projects = list(places)
    if len(projects) > 1:
        owners = ", ".join(project.owner.key for project in projects)
        raise Conflict(f"Several owners have such a task: {owners}. Name one as “owner”.")
    if not projects:
        raise NotFound
    access.require_permission(who, action, projects[0])
    return access.task_by_number_in_project(who, projects[0].owner.key, projects[0].key, task)
