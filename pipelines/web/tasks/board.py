"""The live board of a line: a snapshot over HTTP, fetched again when the socket hints at a change (house §4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.models import ENDED, Line, Pause, Project, Status
from pipelines.queries import versions
from pipelines.queries.board import Filters
from pipelines.queries.board import line_board as board_of
from pipelines.queries.pauses import mark_paused, pause_views_of_line, paused_stations
from pipelines.queries.task_timelines import SPANS, TaskTimelines, line_timelines
from pipelines.templatetags.time_axis import TimeAxis
from pipelines.web.lines.drawing import drawing_of_version
from pipelines.web.shell.page import (
    Permissions,
    SignedInRequest,
    is_fragment_request,
    line_required,
    render_in_shell,
    replace_url,
    show_line,
)
from pipelines.web.tasks.live_graph import live_path_json_text
from pipelines.web.tasks.shown_cards import already_shown_cards_context, requested_row_counts_by_column

SHOWS = ("running", "queued", "waiting", "review", "input", "blocked", "held", "stuck", "late")


def board_filters_of_query(query: QueryDict) -> Filters:
    show_only = query.get("show", "")
    return Filters(
        query.get("q", "").strip()[:200],
        # An address that was changed by hand, or is old, shows everything
        show_only if show_only in SHOWS else "",
        "me" if query.get("requester") == "me" else "",
        end if (end := query.get("end", "")) in ENDED else "",
    )


def url_and_permissions_by_project(
    request: SignedInRequest, projects: Iterable[Project]
) -> dict[int, tuple[str, Permissions]]:
    """Return, by the id of each project, where its tasks are, and what the reader may do with them."""
    return {
        project.pk: (
            reverse("task", args=[project.owner.key, project.key, "-of-task-"]),
            Permissions(request.user, project),
        )
        for project in projects
    }


SPAN_WORDS = {"1h": "1 h", "6h": "6 h", "1d": "24 h", "7d": "7 days", "30d": "30 days"}


def timeline_context(timelines: TaskTimelines, span: str) -> dict[str, Any]:
    """Return what the timeline over several tasks shows beside its filters."""
    return {
        "timelines": timelines,
        "axis": TimeAxis.axis_from_begin_to_now(timelines.begin, timelines.end),
        "span": span,
        "spans": [("", "Fit"), *SPAN_WORDS.items()],
    }


def requested_span(request: SignedInRequest) -> str:
    return span if (span := request.GET.get("span", "")) in SPANS else ""


@line_required("view")
@require_safe
def board_page(request: SignedInRequest, line: Line) -> HttpResponse:
    filters, now = board_filters_of_query(request.GET), timezone.now()
    parameters = {key: value for key, value in asdict(filters).items() if value}
    view = view if (view := request.GET.get("view", "")) in ("graph", "timeline") else "board"
    graph, span = view == "graph", requested_span(request)
    if view == "timeline":
        timelines = line_timelines(line, filters, now, request.user.pk, SPANS.get(span))
        line_board = timelines.board
    else:
        line_board = board_of(line, filters, now, request.user.pk, requested_row_counts_by_column(request))
    if view != "board":
        parameters["view"] = view
    if view == "timeline" and span:
        parameters["span"] = span
    again = is_fragment_request(request, "board")
    context: dict[str, Any] = {
        "line": line,
        "view": view,
        "again": again,
        "filters": filters,
        "board": line_board,
        "drawing": None,
        **already_shown_cards_context(request),
        "card_pages": url_and_permissions_by_project(request, [line.project]),
        "more_at": reverse("line-tasks", args=[line.project.owner.key, line.project.key, line.key]) + "?",
        "query": urlencode(parameters),
        "query_without_view": urlencode({k: v for k, v in parameters.items() if k not in ("view", "span")}),
        "query_without_span": urlencode({k: v for k, v in parameters.items() if k != "span"}),
        "query_without_show": urlencode({k: v for k, v in parameters.items() if k != "show"}),
        "query_without_end": urlencode({k: v for k, v in parameters.items() if k != "end"}),
        "ends": [
            (str(end), Status(end).label, n)
            for end in ENDED
            if (n := line_board.ends.get(end, 0)) or filters.end == end
        ],
    }
    if view == "timeline":
        context |= timeline_context(timelines, span)
    document = versions.parsed_line_by_version_id(line.live_id) if line.live_id else None
    pauses = list(Pause.in_force_on(line))
    mark_paused(line_board.columns, pauses)
    context["pauses"] = pause_views_of_line(pauses, document)
    stations = document.stations if document else ()
    context["pausable"] = [("", "The whole line"), *((row.key, row.name) for row in stations)]
    context["bulk_stations"] = context["pausable"][1:]
    context["bulk_line"] = f"{line.project}/{line.key}"
    if graph and line.live:
        context["told"] = live_path_json_text(
            versions.parsed_line_by_version_id(line.live_id), line_board, now, paused_stations(pauses)
        )
        context["drawing"] = None if again else drawing_of_version(line.live, line.project_id)
    if again:
        part = render_in_shell(request, "tasks/board.html#board", project=line.project, **context)
        part = replace_url(part, request, context["query"])
        if request.GET.get("drawn", str(line.live_id)) != str(line.live_id):
            part["HX-Refresh"] = "true"  # another version is live: the drawing is another one
        return part
    return show_line(
        request,
        "tasks/board.html",
        line,
        live_project=f"{line.project.owner.key}/{line.project.key}",
        live_line=line.key,
        draft_differs=False,
        **context,
    )
