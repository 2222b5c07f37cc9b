"""The live board of a line: a snapshot over HTTP, fetched again when the socket hints at a change (house §4)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.models import ENDED, Project, Status
from pipelines.queries.board import Filters
from pipelines.queries.board import board as board_of
from pipelines.web.lines import lines
from pipelines.web.shell.page import SignedIn, at_address, fragment, in_project, show, show_line

SHOWS = ("running", "queued", "waiting", "review", "input", "blocked", "held", "stuck", "late")


def filters_of(request: SignedIn) -> Filters:
    show_only = request.GET.get("show", "")
    return Filters(
        request.GET.get("q", "").strip()[:200],
        show_only if show_only in SHOWS else "",
        "me" if request.GET.get("requester") == "me" else "",
        end if (end := request.GET.get("end", "")) in ENDED else "",
    )


@in_project("view")
@require_safe
def board(request: SignedIn, project: Project, line: str) -> HttpResponse:
    found = lines.get(request, project, line)
    filters = filters_of(request)
    given = {key: value for key, value in asdict(filters).items() if value}
    found_board = board_of(found, filters, timezone.now(), request.user.pk)
    context: dict[str, Any] = {
        "line": found,
        "filters": filters,
        "board": found_board,
        "query": urlencode(given),
        "query_without_show": urlencode({k: v for k, v in given.items() if k != "show"}),
        "query_without_end": urlencode({k: v for k, v in given.items() if k != "end"}),
        "ends": [
            (str(end), Status(end).label, n)
            for end in ENDED
            if (n := found_board.ends.get(end, 0)) or filters.end == end
        ],
    }
    if fragment(request, "board"):
        part = show(request, "tasks/board.html#board", project=project, **context)
        return at_address(part, request, context["query"])
    return show_line(
        request,
        "tasks/board.html",
        found,
        live_project=f"{project.owner.key}/{project.key}",
        live_line=found.key,
        draft_differs=False,
        **context,
    )
