"""Page of all activity in the projects in view, newest first. It is live, and has its filters in the address."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from pipelines.queries.activity import KIND_LABELS, ActivityFilter, read_activity
from pipelines.queries.line_filter import find_option, line_choices
from pipelines.web.shell.page import (
    SignedInRequest,
    breadcrumbs,
    is_fragment_request,
    page_scope,
    render_in_shell,
    replace_url,
    requested_date_range,
    sign_in_required,
)

LONGEST_NAME = 150


@sign_in_required
@require_safe
def activity_page(request: SignedInRequest) -> HttpResponse:
    scope = page_scope(request, "activity")
    lines, dates = line_choices(scope.projects), requested_date_range(request)
    begin, end = dates.first_moment_and_first_after
    before = requested_instant_or_none(request.GET.get("before", ""))
    kind = request.GET.get("kind", "")
    filters = ActivityFilter(
        kind if kind in KIND_LABELS else "",
        find_option(request.GET.get("line", ""), lines, scope.projects),
        request.GET.get("who", "").strip()[:LONGEST_NAME].replace("\0", ""),
        begin,
        min((bound for bound in (end, before) if bound), default=None),
    )
    parameters = {
        "project": scope.project_key,
        "kind": filters.kind,
        "line": filters.line,
        "who": filters.who,
        **dates.query,
    }
    query = urlencode({key: value for key, value in parameters.items() if value})
    context: dict[str, Any] = {
        "page": read_activity(scope.projects, filters),
        "filters": filters,
        "dates": dates,
        "narrowed": bool(filters.kind or filters.line or filters.who or dates),
        "before": before,
        "query": query,
    }
    if is_fragment_request(request, "feed"):
        part = render_in_shell(request, "tasks/activity.html#feed", scope=scope, **context)
        return replace_url(part, request, query)
    return render_in_shell(
        request,
        "tasks/activity.html",
        scope=scope,
        section="tasks",
        trail=breadcrumbs(("Tasks", reverse("tasks-everywhere")), "All activity"),
        lines=lines,
        kinds=KIND_LABELS.items(),
        live_query=urlencode({"project": scope.project_key}) if scope.chosen_project else "",
        live_project=scope.hint_topic,
        **context,
    )


def requested_instant_or_none(text: str) -> datetime | None:
    """Return the instant of an address, None of anything else."""
    try:
        instant = parse_datetime(text[:40].replace(" ", "+"))
    except ValueError:
        return None
    # Years at the edge of the calendar have no instant in another time zone
    if instant is None or not 1 < instant.year < 9999:
        return None
    return timezone.make_aware(instant, UTC) if timezone.is_naive(instant) else instant
