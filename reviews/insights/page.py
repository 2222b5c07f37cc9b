"""Insights of a project, and the same parts of a line. `?csv=` answers with the file of one table."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.models import Incident, Line, Project
from pipelines.routing.sentences.escalations import late_words
from pipelines.web.shell.page import (
    SignedInRequest,
    costly,
    line_required,
    project_breadcrumb,
    project_required,
    show,
    show_line,
)
from reviews.insights import health, rules, sampling
from reviews.insights.figures import Insights
from reviews.insights.selection import PRESETS, Period, period_of

MAX_INCIDENTS = 20
TEMPLATE = "insights/page.html"


@project_required("view")
@costly
@require_safe
def project_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """`?days=7|30|90|365`, or `?since=` and `?until=`."""
    insights = Insights(project, list(Line.objects.filter(project=project)), period_of(request), None)
    if "csv" in request.GET:
        return _file(insights, request.GET["csv"])
    now = timezone.now()
    more = {
        "months": health.months(project, now),
        "offers": sampling.offers(project),
        "unremarked": sampling.UNREMARKED,
    }
    trail = project_breadcrumb(project, "Insights")
    context = {**_context(request, insights), **more}
    return show(request, TEMPLATE, project=project, section="insights", trail=trail, **context)


@line_required("view")
@costly
@require_safe
def line_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """The same of one line; `?version=` narrows its rules to one version."""
    insights = Insights(line.project, [line], period_of(request), line)
    if "csv" in request.GET:
        return _file(insights, request.GET["csv"])
    part = rules.of(line, request.GET.get("version", ""), insights.period.dates)
    return show_line(request, TEMPLATE, line, **_context(request, insights), **part)


def _context(request: HttpRequest, insights: Insights) -> dict[str, Any]:
    period, project = insights.period, insights.project
    incidents = Incident.objects.filter(
        period.dates.condition_on("opened_at"), task__project=project, task__line__in=insights.selection.lines
    ).select_related("task__project", "escalation")
    figures = health.of(project, timezone.now(), insights.line)
    return {
        "insights": insights,
        "line": insights.line,
        "period": period,
        "dates": period.dates,
        "presets": [(days, name, days == period.preset) for days, name in PRESETS.items()],
        "range": _range(period),
        "tiles": [] if insights.empty else insights.tiles(),
        "charts": [] if insights.empty else insights.charts(),
        "time": insights.time(),
        "tables": [sheet for sheet in insights.tables() if sheet],
        "health": figures,
        "months": [],
        "offers": [],
        "alerts": sum(row.figure.is_alert for row in figures),
        "incidents": [
            (incident, late_words(incident.escalation.role, incident.escalation.trigger))
            for incident in incidents.order_by("-opened_at")[:MAX_INCIDENTS]
        ],
    }


def _range(period: Period) -> str:
    """The period as it stands in the addresses of its files and of its lines."""
    return urlencode({"days": period.preset} if period.preset else period.dates.query)


def _file(insights: Insights, key: str) -> HttpResponse:
    sheet = insights.sheet(key)
    if sheet is None:
        raise Http404
    name = f"{insights.line.key if insights.line else insights.project.key}-{sheet.key}.csv"
    answer = HttpResponse(sheet.csv(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
