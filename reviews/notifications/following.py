"""Following a task, a line or a station, and no longer."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from pipelines import access
from pipelines.errors import NotFound
from pipelines.models import Line, Project, Task, User
from pipelines.queries import versions
from pipelines.web.shell.page import SignedInRequest, project_required
from reviews.models import Follow


@project_required("view")
@require_POST
def start_or_end_follow(request: SignedInRequest, project: Project) -> HttpResponse:
    """`task`, or `line` with or without `station`; `follow`: yes to begin, anything else to end."""
    what = _task_or_line_and_station_fields(request, project)
    if request.POST.get("follow") == "yes":
        Follow.objects.get_or_create(user=request.user, project=project, **what, defaults={"at": Now()})
        messages.success(request, "You follow it. Choose bell or mail in your notification settings.")
    else:
        Follow.objects.filter(user=request.user, project=project, **what).delete()
        messages.success(request, "You no longer follow it.")
    return _redirect_to_followed(project, **what)


def _redirect_to_followed(
    project: Project, task: Task | None, line: Line | None, station: str
) -> HttpResponse:
    here = (project.owner.key, project.key)
    if task is not None:
        return redirect("task", *here, task.name)
    assert line is not None
    return redirect(reverse("line", args=[*here, line.key]) + (f"#station-{station}" if station else ""))


def _task_or_line_and_station_fields(request: SignedInRequest, project: Project) -> dict[str, Any]:
    """Raises NotFound for what is not there."""
    here, form_data = (request.user, project.owner.key, project.key), request.POST
    if form_data.get("task"):
        return {
            "task": access.task_by_number_in_project(*here, form_data["task"]),
            "line": None,
            "station": "",
        }
    line, station = form_data.get("line", ""), form_data.get("station", "")
    # PostgreSQL takes no NUL in a text
    of = access.line_of_visible_project_by_keys(*here, line) if "\0" not in line else None
    if of is None or (station and not _live_version_has_station(of, station)):
        raise NotFound
    return {"task": None, "line": of, "station": station}


def _live_version_has_station(line: Line, station: str) -> bool:
    return (
        line.live_id is not None
        and station in versions.parsed_line_by_version_id(line.live_id).stations_by_key
    )


def followed_station_keys_or_line(user: User, line: Line) -> set[str]:
    """Return what this person follows of a line: keys of stations, "" for the line itself. One statement."""
    return set(Follow.objects.filter(user=user, line=line).values_list("station", flat=True))


def follows_task(user: User, task: Task) -> bool:
    return Follow.objects.filter(user=user, task=task).exists()
