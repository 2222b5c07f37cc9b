"""Health of a project or a line with its limits, and what its months cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from urllib.parse import urlencode

from django.utils import timezone

from pipelines.models import Line, Project
from pipelines.queries import health as query
from pipelines.queries import usage
from pipelines.queries.usage import Spending
from pipelines.routing.analysis.health import Figure, figure_name, format_figure
from pipelines.templatetags.gateline import duration
from reviews.insights.selection import month_of

MONTHS = 12


@dataclass(frozen=True, slots=True)
class FigureRow:
    """`percent`: of twice the threshold, which therefore stands in the middle."""

    figure: Figure
    name: str
    value: str
    threshold: str

    @property
    def percent(self) -> float:
        return min(100.0, 50 * (self.figure.value or 0) / self.figure.threshold)


@dataclass(frozen=True, slots=True)
class MonthRow:
    """`limit`: of the month that runs, in US dollars; `limited`: what counts for it, as its month is one of UTC."""

    month: date
    spending: Spending
    limit: Decimal | None = None
    limited: Spending = usage.NOTHING

    @property
    def query(self) -> str:
        """The month as a period of Insights."""
        return urlencode(month_of(self.month).dates.query)

    @property
    def limit_text(self) -> str:
        if self.limit is None:
            return ""
        limit = usage.dollars_text(self.limit)
        if self.limited == self.spending:
            return f"of {limit}"
        return f"({self.limited.price_text or usage.dollars_text(Decimal())} of {limit} in the month of UTC)"

    @property
    def amount(self) -> str:
        return self.spending.price_text or usage.dollars_text(Decimal())

    @property
    def percent(self) -> int:
        """Percentage of the limit."""
        if self.limit is None:
            return 0
        # A limit of 0 is used up before anything is spent.
        return min(100, int(100 * (self.limited.cost or 0) / self.limit)) if self.limit else 100


def health_figures(project: Project, now: datetime, line: Line | None) -> list[FigureRow]:
    names = query.line_and_gate_names_by_figure(project)
    rows = []
    for figure in query.health_figures(project, now, line.key if line else ""):
        # A gate that only old versions have keeps its keys.
        of_line, gate = names.get(figure.of) or figure.of.split(" › ", 1) if figure.of else ("", "")
        name, threshold = figure_name(figure.key, of_line, gate), format_figure(figure.key, figure.threshold)
        rows.append(FigureRow(figure, name, _value_and_change_text(figure), threshold))
    return rows


def _value_and_change_text(figure: Figure) -> str:
    if figure.value is None:
        return "not enough data yet"
    text = format_figure(figure.key, figure.value)
    if figure.seconds is None:
        return text
    now, before = (duration(seconds) for seconds in figure.seconds)
    return f"{text} ({now}, before {before})"


def month_rows(project: Project, now: datetime) -> list[MonthRow]:
    """The newest first; with a limit also the one that runs, whatever it cost. Months are those of the active zone."""
    zone, today = timezone.get_current_timezone_name(), timezone.localdate(now).replace(day=1)
    by_month, limit, limited = (
        usage.spending_by_month(project.pk, zone),
        project.month_cost_usd,
        usage.NOTHING,
    )
    if limit is not None:
        by_month = {**by_month, today: by_month.get(today, usage.NOTHING)}
        limited = by_month[today] if zone == "UTC" else usage.spending_of_month(project.pk)
    rows = sorted(by_month.items(), reverse=True)[:MONTHS]
    return [
        MonthRow(month, spent, limit, limited) if month == today else MonthRow(month, spent)
        for month, spent in rows
    ]
