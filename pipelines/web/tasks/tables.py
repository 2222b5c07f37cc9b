"""Tables of tasks. What is searched and narrowed stands in the address, so that a view can be kept and sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines.models import DISPLAYED, Line, Priority, Project, Task
from pipelines.queries.dates import DateRange
from pipelines.queries.line_filter import find_option, line_choices
from pipelines.queries.task_places import places_by_task
from pipelines.queries.tasks import SORTS, TaskFilter, search_page
from pipelines.templatetags.small import at_task
from pipelines.web.shell.page import (
    Crumb,
    PageScope,
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    line_required,
    page_scope,
    parse_day_or_none,
    project_breadcrumb,
    project_required,
    render_in_shell,
    replace_url,
    requested_date_range,
    sign_in_required,
)

FIELDS = ("q", "status", "line", "priority", "requester", "late", "sort")
VIEW_FIELDS = ("q", "status", "priority", "requester", "late")
VIEWS: tuple[tuple[str, dict[str, str]], ...] = (
    ("All", {}),
    ("Open", {"status": "open"}),
    ("Waiting for people", {"status": "waiting"}),
    ("Late", {"late": "yes"}),
    ("Requested by you", {"requester": "me"}),
    ("Failed in 7 days", {"status": "failed", "since": "7d"}),
)
STATUSES = ("open", "waiting", "ended", *(value for value, _word in DISPLAYED))


def requested_task_filter(request: SignedInRequest) -> TaskFilter:
    """Values that do not exist narrow nothing instead of failing: addresses are kept, words change."""
    values = {name: request.GET.get(name, "").strip()[:200] for name in FIELDS}
    if values["status"] not in STATUSES:
        values["status"] = ""
    if values["priority"] not in Priority.values:
        values["priority"] = ""
    values["sort"] = values["sort"] if values["sort"] in SORTS else "new"
    values["requester"] = "me" if values["requester"] == "me" else ""
    values["late"] = "yes" if values["late"] == "yes" else ""
    return TaskFilter(**values, dates=requested_date_range(request))


def page_number_or_default(text: str | None, default: int = 1) -> int:
    """A page number from an address."""
    # Its length before its number: int() raises for a text of more than 4,300 digits
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else default


@sign_in_required
@require_safe
def all_tasks_page(request: SignedInRequest) -> HttpResponse:
    return _render_tasks_page(request, page_scope(request, "tasks-everywhere"), breadcrumbs("Tasks"))


@project_required("view")
@require_safe
def project_tasks_page(request: SignedInRequest, project: Project) -> HttpResponse:
    scope = PageScope.of_project(project, reverse("tasks-everywhere"))
    return _render_tasks_page(request, scope, project_breadcrumb(project, "Tasks"))


@line_required("view")
@require_safe
def line_tasks_page(request: SignedInRequest, line: Line) -> HttpResponse:
    return _render_tasks_page(
        request, PageScope.of_project(line.project), project_breadcrumb(line.project, line.name), line
    )


def _set_task_and_line_urls(rows: Iterable[Task]) -> None:
    """Add to each task the address of it and its line: a project's address is built once, not once a row."""
    tasks: dict[int, str] = {}
    lines: dict[int, str] = {}
    for task in rows:
        owner, project = task.project.owner.key, task.project.key
        if task.project_id not in tasks:
            # Stands where the number of a task goes.
            tasks[task.project_id] = reverse("task", args=[owner, project, "-of-task-"])
        if task.line_id not in lines:
            lines[task.line_id] = reverse("line-live", args=[owner, project, task.line.key])
        task.address = at_task(tasks[task.project_id], task.name)  # type: ignore[attr-defined]
        task.line_address = lines[task.line_id]  # type: ignore[attr-defined]


def _ready_made_views(search: TaskFilter, scope: PageScope, line: Line | None) -> list[tuple[str, str, bool]]:
    """(label, query, whether it is the one on the page) of views that many look at."""
    project = {"project": scope.project_key} if scope.chosen_project and not line else {}
    chosen = {name: value for name in VIEW_FIELDS if (value := getattr(search, name))} | search.dates.query
    return [
        (label, urlencode({**project, **narrowed}), _as_dates(narrowed) == chosen)
        for label, narrowed in VIEWS
    ]


def _as_dates(narrowed: Mapping[str, str]) -> dict[str, str]:
    since = DateRange(parse_day_or_none(narrowed["since"])).query if "since" in narrowed else {}
    return {**narrowed, **since}


def _render_tasks_page(
    request: SignedInRequest,
    scope: PageScope,
    trail: Sequence[Crumb],
    line: Line | None = None,
) -> HttpResponse:
    search, lines = requested_task_filter(request), line_choices(scope.projects)
    chosen = line.key if line else find_option(search.line, lines, scope.projects)
    search = replace(search, line=chosen)
    rows = search_page(scope.projects, search, request.user, page_number_or_default(request.GET.get("page")))
    _set_task_and_line_urls(rows)
    places = places_by_task(list(rows))
    for task in rows:
        task.place = places.get(task.pk, "")
    context: dict[str, Any] = {
        "search": search,
        "rows": rows,
        "several": scope.has_several_projects,
        "has_priorities": any(task.priority != Priority.MEDIUM for task in rows),
        "has_places": bool(places),
        "views": _ready_made_views(search, scope, line),
        "has_due": any(task.due_at for task in rows),
        "query": urlencode(
            {k: v for k, v in request.GET.items() if k in (*FIELDS, "project", "since", "until") and v}
        ),
        "line": line,
        "line_view": line,
        "live_query": urlencode({"project": str(scope.project)}) if scope.project else "",
    }
    if is_fragment_request(request, "table"):
        part = render_in_shell(request, "tasks/tasks.html#table", scope=scope, **context)
        page = context["rows"].number
        return replace_url(part, request, context["query"] + (f"&page={page}" if page > 1 else ""))
    return render_in_shell(
        request,
        "tasks/tasks.html",
        scope=scope,
        section="lines" if line else "tasks",
        trail=trail,
        lines=lines,
        statuses=DISPLAYED,
        priorities=Priority.choices,
        live_project=scope.hint_topic,
        **context,
    )
