"""Health of a project, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.models import Incident, Line, Project
from pipelines.queries import health as query
from pipelines.queries import times, usage
from pipelines.queries.usage import Spending
from pipelines.routing.analysis.health import Figure, figure_name, format_figure
from pipelines.routing.sentences.escalations import late_words
from pipelines.templatetags.gateline import duration
from pipelines.web.shell.page import SignedIn, in_project, show, tab_trail
from pipelines.web.shell.scope import dates_of

MOST = 20
MONTHS = 12


@dataclass(frozen=True, slots=True)
class FigureRow:
    figure: Figure
    name: str
    value: str
    threshold: str
    todo: str


@dataclass(frozen=True, slots=True)
class MonthRow:
    """`limit`: of the month that runs, in US dollars."""

    month: date
    spending: Spending
    limit: Decimal | None = None

    @property
    def of_limit(self) -> str:
        return "" if self.limit is None else usage.dollars(self.limit)

    @property
    def amount(self) -> str:
        return self.spending.price or usage.dollars(Decimal())

    @property
    def percent(self) -> int:
        """Percentage of the limit."""
        if self.limit is None:
            return 0
        # A limit of 0 is used up before anything is spent.
        return min(100, int(100 * (self.spending.cost or 0) / self.limit)) if self.limit else 100


@dataclass(frozen=True, slots=True)
class LineCosts:
    line: Line
    spending: Spending


@in_project("view")
@require_safe
def health(request: SignedIn, project: Project) -> HttpResponse:
    now, dates = timezone.now(), dates_of(request)
    start, end = dates.bounds
    incidents = Incident.objects.filter(dates.of("opened_at"), task__project=project).select_related(
        "task__project", "escalation"
    )
    begin = start or now - query.MONTH
    stations = times.of_project(project, begin, end)[:MOST]
    gates = query.gate_names(project)
    return show(
        request,
        "insights/health.html",
        project=project,
        section="insights",
        trail=tab_trail(project, "Insights"),
        rows=[_row(figure, gates) for figure in query.figures(project, now)],
        dates=dates,
        stations=stations,
        has={
            name: any(getattr(station, name) for station in stations)
            for name in ("waiting", "working", "gates")
        },
        months=_months(project, now),
        costs=_costs(project, begin, end),
        incidents=[
            (incident, late_words(incident.escalation.role, incident.escalation.trigger))
            for incident in incidents.order_by("-opened_at")[:MOST]
        ],
    )


def _months(project: Project, now: datetime) -> list[MonthRow]:
    """The newest first; with a limit also the one that runs, whatever it cost."""
    # Months are those of UTC, each by its first day.
    by_month, today = usage.by_month(project.pk), now.astimezone(UTC).date().replace(day=1)
    limit = project.month_cost_usd
    if limit is not None:
        by_month = {**by_month, today: by_month.get(today, usage.NOTHING)}
    rows = sorted(by_month.items(), reverse=True)[:MONTHS]
    return [MonthRow(month, spent, limit if month == today else None) for month, spent in rows]


def _costs(project: Project, since: datetime, until: datetime | None) -> list[LineCosts]:
    """Return the costs of the lines, the dearest first."""
    spent = usage.by_line(project.pk, since, until)
    lines = Line.objects.filter(pk__in=spent).order_by("name")
    rows = [LineCosts(line, spent[line.pk]) for line in lines]
    return sorted(rows, key=lambda row: -(row.spending.cost or 0))[:MOST]


def _row(figure: Figure, gates: Mapping[str, tuple[str, str]]) -> FigureRow:
    """`gates`: the names of line and gate by what `Figure.of` calls them; one of an old version keeps its key."""
    line, gate = gates.get(figure.of) or figure.of.split(" › ", 1) if figure.of else ("", "")
    return FigureRow(
        figure, figure_name(figure.key, line, gate), _value(figure), format_figure(figure.key, figure.threshold),
        figure.todo,
    )  # fmt: skip


def _value(figure: Figure) -> str:
    if figure.value is None:
        return "not enough data yet"
    text = format_figure(figure.key, figure.value)
    if figure.seconds is None:
        return text
    now, before = (duration(seconds) for seconds in figure.seconds)
    return f"{text} ({now}, before {before})"
