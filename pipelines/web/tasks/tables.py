"""Tables of tasks. What is searched and narrowed stands in the address, so that a view can be kept and sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from pipelines.models import DISPLAYED, Line, Priority, Project, Task
from pipelines.queries.line_filter import choices, find_option
from pipelines.queries.tasks import SORTS, TaskFilter, search_page
from pipelines.templatetags.small import at_task
from pipelines.web.shell.page import (
    Crumb,
    SignedIn,
    at_address,
    crumbs,
    fragment,
    in_project,
    on_line,
    show,
    signed_in,
    tab_trail,
)
from pipelines.web.shell.scope import PageScope, dates_of, scope_of

FIELDS = ("q", "status", "line", "priority", "requester", "late", "sort")
STATUSES = ("open", "waiting", "ended", *(value for value, _word in DISPLAYED))


def search_of(request: SignedIn) -> TaskFilter:
    """Values that do not exist narrow nothing instead of failing: addresses are kept, words change."""
    values = {name: request.GET.get(name, "").strip()[:200] for name in FIELDS}
    if values["status"] not in STATUSES:
        values["status"] = ""
    if values["priority"] not in Priority.values:
        values["priority"] = ""
    values["sort"] = values["sort"] if values["sort"] in SORTS else "new"
    values["requester"] = "me" if values["requester"] == "me" else ""
    values["late"] = "yes" if values["late"] == "yes" else ""
    return TaskFilter(**values, dates=dates_of(request))


def number(text: str | None, otherwise: int = 1) -> int:
    """A page number from an address."""
    # Its length before its number: int() raises for a text of more than 4,300 digits
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else otherwise


@signed_in
@require_safe
def everywhere(request: SignedIn) -> HttpResponse:
    return _page(request, scope_of(request, "tasks-everywhere"), crumbs("Tasks"))


@in_project("view")
@require_safe
def of_project(request: SignedIn, project: Project) -> HttpResponse:
    scope = PageScope.of(project, reverse("tasks-everywhere"))
    return _page(request, scope, tab_trail(project, "Tasks"))


@on_line("view")
@require_safe
def of_line(request: SignedIn, line: Line) -> HttpResponse:
    return _page(request, PageScope.of(line.project), tab_trail(line.project, line.name), line)


def _address(rows: Iterable[Task]) -> None:
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


def _page(
    request: SignedIn,
    scope: PageScope,
    trail: Sequence[Crumb],
    line: Line | None = None,
) -> HttpResponse:
    search, lines = search_of(request), choices(scope.projects)
    chosen = line.key if line else find_option(search.line, lines, scope.projects)
    search = replace(search, line=chosen)
    rows = search_page(scope.projects, search, request.user, number(request.GET.get("page")))
    _address(rows)
    context: dict[str, Any] = {
        "search": search,
        "rows": rows,
        "several": scope.several,
        "has_priorities": any(task.priority != Priority.MEDIUM for task in rows),
        "has_due": any(task.due_at for task in rows),
        "query": urlencode(
            {k: v for k, v in request.GET.items() if k in (*FIELDS, "project", "since", "until") and v}
        ),
        "line": line,
        "line_view": line,
    }
    if fragment(request, "table"):
        part = show(request, "tasks/tasks.html#table", scope=scope, **context)
        page = context["rows"].number
        return at_address(part, request, context["query"] + (f"&page={page}" if page > 1 else ""))
    return show(
        request,
        "tasks/tasks.html",
        scope=scope,
        section="lines" if line else "tasks",
        trail=trail,
        lines=lines,
        statuses=DISPLAYED,
        priorities=Priority.choices,
        live_project=scope.live,
        **context,
    )
