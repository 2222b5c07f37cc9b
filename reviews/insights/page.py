"""Insights of a project, and the same parts of a line, over days of the project's time zone. `?csv=` answers with the
file of one table, `?tasks=` with the tasks behind a figure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pipelines import engine
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict, Invalid
from pipelines.lines import gate_sampling
from pipelines.models import Agent, Incident, Line, Project
from pipelines.queries.retention import purged_tasks_that_ended
from pipelines.routing.sentences.escalations import unanswered_escalation_sentence
from pipelines.web.shell.middleware import zone_or_utc
from pipelines.web.shell.page import (
    SignedInRequest,
    costly_view,
    line_required,
    project_breadcrumb,
    project_required,
    render_in_shell,
    show_line,
)
from pipelines.web.tasks.tables import page_number_or_default
from reviews.insights import band, health, rules, sample_size, sampling, task_list, trust
from reviews.insights.figures import Insights
from reviews.insights.selection import (
    PRESETS,
    InsightsSelection,
    Period,
    month_of,
    requested_period_or_last_30_days,
)

MAX_INCIDENTS = 20
TEMPLATE, TASKS_TEMPLATE = "insights/page.html", "insights/tasks.html"


@project_required("view")
@costly_view
@require_safe
def project_page(request: SignedInRequest, project: Project) -> HttpResponse:
    """`?days=7|30|90|365`, or `?since=` and `?until=`."""
    lines, template = list(Line.objects.filter(project=project)), TEMPLATE
    with _days_of_project(project):
        if "tasks" in request.GET:
            template, context = TASKS_TEMPLATE, _tasks_context_or_404(request, project, lines, None)
        else:
            insights = _requested_insights(request, project, lines, None)
            if "csv" in request.GET:
                return _csv_response_or_404(insights, request.GET["csv"])
            context = {**_page_context(insights), **_context_of_project(project, insights.selection.now)}
    trail = project_breadcrumb(project, "Insights")
    return render_in_shell(request, template, project=project, section="insights", trail=trail, **context)


@line_required("view")
@costly_view
@require_safe
def line_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """The same of one line; `?version=` narrows its rules to one version."""
    template = TEMPLATE
    with _days_of_project(line.project):
        if "tasks" in request.GET:
            template, context = TASKS_TEMPLATE, _tasks_context_or_404(request, line.project, [line], line)
        else:
            insights = _requested_insights(request, line.project, [line], line)
            if "csv" in request.GET:
                return _csv_response_or_404(insights, request.GET["csv"])
            version = request.GET.get("version", "")
            context = {**_page_context(insights), **rules.rules_context(line, version, insights.period.dates)}
    return show_line(request, template, line, **context)


@line_required("design")
@require_POST
def put_sample_rate_into_draft(request: SignedInRequest, line: Line, gate: str) -> HttpResponseBase:
    """`one_in` goes into the draft; publishing it is decided on its page."""
    keys = [line.project.owner.key, line.project.key]
    wish = request.POST.get("one_in", "")
    if wish not in {str(one_in) for one_in in sample_size.RATES}:
        messages.error(request, f"Choose one of {', '.join(map(str, sample_size.RATES))}.")
        return redirect("insights", *keys)
    try:
        gate_sampling.set_gate_sample_in_draft(line, gate, int(wish), by=request.user)
    except Invalid as error:
        messages.error(request, f"{line.name} could not be published with this sample: {error.message}")
        return redirect("insights", *keys)
    except Conflict as conflict:
        messages.error(request, conflict.detail)
        return redirect("line-draw", *keys, line.key)
    messages.success(request, f"The draft of {line.name} asks about 1 in {wish}. Publish it to begin.")
    return redirect("line-publish", *keys, line.key)


@line_required("execute")
@require_POST
def sample_again(request: SignedInRequest, line: Line, gate: str) -> HttpResponseBase:
    gate_sampling.let_gate_draw_again(line, gate, by=request.user)
    messages.success(request, "The gate asks about a sample again")
    return redirect("insights", line.project.owner.key, line.project.key)


@project_required("admin")
@require_POST
def raise_trust(request: SignedInRequest, project: Project, agent: int, station: str) -> HttpResponseBase:
    """Accept the next level of an agent at a station, as long as its record supports exactly that one."""
    registered = get_object_or_404(Agent, project=project, pk=agent)
    records = trust.trust_records(project, timezone.now())
    record = next((row for row in records if (row.agent.pk, row.station) == (agent, station)), None)
    if record is None:
        messages.error(request, f"{registered} has not worked at {station} since it has its level there.")
    elif str(record.next_level) != request.POST.get("level"):
        messages.error(request, f"{record.agent} stays at level {record.level} at {station}. {record.answer}")
    else:
        reason = f"Level {record.level} to {record.next_level} at {station}: {record.evidence}."
        try:
            engine.raise_trust_level(
                agent, station, record.level + 1, reason=reason, actor=Actor.person(request.user)
            )
        except Conflict as conflict:
            messages.error(request, str(conflict))
        else:
            messages.success(request, f"{record.agent} has level {record.next_level} at {station}.")
    return redirect(reverse("insights", args=[project.owner.key, project.key]) + "#trust")


def _days_of_project(project: Project) -> timezone.override:
    """Let a period begin and end at midnight where the project is, so that all who read it have the same figures."""
    return timezone.override(zone_or_utc(project.time_zone))


def _requested_insights(
    request: HttpRequest, project: Project, lines: Sequence[Line], line: Line | None
) -> Insights:
    return Insights(project, lines, requested_period_or_last_30_days(request), line, timezone.now())


def _period_context(project: Project, period: Period) -> dict[str, Any]:
    return {
        "period": period,
        "dates": period.dates,
        "today": timezone.localdate(),
        "zone": project.time_zone,
        "last_month": month_of(timezone.localdate().replace(day=1) - timedelta(days=1)),
        "presets": [(days, name, days == period.preset) for days, name in PRESETS.items()],
        "range": _period_query(period),
    }


def _tasks_context_or_404(
    request: HttpRequest, project: Project, lines: Sequence[Line], line: Line | None
) -> dict[str, Any]:
    period = requested_period_or_last_30_days(request)
    selection = InsightsSelection([row.pk for row in lines], period, timezone.now())
    number = max(1, page_number_or_default(request.GET.get("page")))
    try:
        tasks = task_list.task_list(project, selection, request.GET["tasks"], number)
    except KeyError:
        raise Http404 from None
    return {**_period_context(project, period), "line": line, "tasks": tasks, "name": line or project}


def _context_of_project(project: Project, now: datetime) -> dict[str, Any]:
    return {
        "months": health.month_rows(project, now),
        "gate_records": sampling.gate_records(project),
        "fallbacks": sampling.gates_asking_about_all_again(project),
        "unremarked": sampling.UNREMARKED,
        "recent_days": sampling.RECENT_DAYS,
        "trust_records": trust.trust_records(project, now),
    }


def _page_context(insights: Insights) -> dict[str, Any]:
    period, project = insights.period, insights.project
    incidents = Incident.objects.filter(
        period.dates.condition_on("opened_at"), task__project=project, task__line__in=insights.selection.lines
    ).select_related("task__project", "escalation")
    start, end = period.dates.first_moment_and_first_after
    figures = health.health_figures(project, insights.selection.now, insights.line)
    return {
        **_period_context(project, period),
        "insights": insights,
        "line": insights.line,
        "purged": purged_tasks_that_ended([*insights.selection.lines], start, end) if start and end else 0,
        "band": None if insights.has_no_figures else band.band_of_period(insights),
        "charts": [] if insights.has_no_figures else insights.charts(),
        "first_pass": insights.first_pass_sheet(),
        "time": insights.time_sheet(),
        "tables": [sheet for sheet in insights.tables() if sheet],
        "health": figures,
        "months": [],
        "gate_records": [],
        "fallbacks": [],
        "trust_records": [],
        "alerts": sum(row.figure.is_alert for row in figures),
        "incidents": [
            (incident, unanswered_escalation_sentence(incident.escalation.role, incident.escalation.trigger))
            for incident in incidents.order_by("-opened_at")[:MAX_INCIDENTS]
        ],
    }


def _period_query(period: Period) -> str:
    """The period as it stands in the addresses of its files and of its lines."""
    return urlencode({"days": period.preset} if period.preset else period.dates.query)


def _csv_response_or_404(insights: Insights, key: str) -> HttpResponse:
    sheet = insights.sheet_by_key_or_none(key)
    if sheet is None:
        raise Http404
    name = f"{insights.line.key if insights.line else insights.project.key}-{sheet.key}.csv"
    answer = HttpResponse(sheet.csv_text(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
