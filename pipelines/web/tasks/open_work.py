"""Page of all open work of the projects in view: a board by state, a timeline, or a table of lines. It is live, and
has its filters in the address, as the board of a line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.queries import open_work as queries
from pipelines.queries.line_filter import find_option, line_choices
from pipelines.queries.task_timelines import SPANS, open_timelines
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    page_scope,
    render_in_shell,
    replace_url,
    sign_in_required,
)
from pipelines.web.tasks.board import (
    board_filters_of_query,
    requested_span,
    timeline_context,
    url_and_permissions_by_project,
)
from pipelines.web.tasks.shown_cards import already_shown_cards_context, requested_row_counts_by_column


@sign_in_required
@require_safe
def open_work_page(request: SignedInRequest) -> HttpResponse:
    scope, now = page_scope(request, "tasks-live"), timezone.now()
    lines, filters = line_choices(scope.projects), board_filters_of_query(request.GET)
    line = find_option(request.GET.get("line", ""), lines, scope.projects)
    view = view if (view := request.GET.get("view", "")) in ("lines", "timeline") else "board"
    span = requested_span(request)
    context: dict[str, Any] = {"rows": (), **already_shown_cards_context(request)}
    read = scope.projects, line, filters, now, request.user.pk
    if view == "lines":
        context["board"], context["rows"] = queries.board_and_line_work(*read)
        context["has_cost"] = any(row.spending.runs for row in context["rows"])
    elif view == "timeline":
        timelines = open_timelines(*read, SPANS.get(span))
        context |= timeline_context(timelines, span) | {"board": timelines.board}
    else:
        context["board"] = queries.board_by_state(*read, requested_row_counts_by_column(request))
    parameters = {
        "project": scope.project_key,
        "line": line,
        "view": "" if view == "board" else view,
        "span": span if view == "timeline" else "",
        **{key: value for key, value in asdict(filters).items() if key != "end"},
    }

    def query_string(*without: str) -> str:
        return urlencode({key: value for key, value in parameters.items() if value and key not in without})

    project = query_string("q", "show", "requester", "line", "view", "span")
    again = is_fragment_request(request, "board")
    context |= {
        "view": view,
        "again": again,
        "filters": filters,
        "chosen_line": line,
        "query": query_string(),
        "query_without_view": query_string("view", "span"),
        "query_without_span": query_string("span"),
        "query_without_show": query_string("show"),
        "card_pages": url_and_permissions_by_project(request, scope.projects),
        "more_at": f"{reverse('tasks-everywhere')}?{project}{'&' if project else ''}",
    }
    if again:
        part = render_in_shell(request, "tasks/open_work.html#board", scope=scope, **context)
        return replace_url(part, request, context["query"])
    return render_in_shell(
        request,
        "tasks/open_work.html",
        scope=scope,
        section="tasks",
        trail=breadcrumbs(("Tasks", reverse("tasks-everywhere")), "All open work"),
        lines=lines,
        live_project=scope.hint_topic,
        **context,
    )
