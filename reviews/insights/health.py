"""Health of a project or a line with its limits, and what its months cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from pipelines.models import Line, Project
from pipelines.queries import health as query
from pipelines.queries import usage
from pipelines.queries.usage import Spending
from pipelines.routing.analysis.health import Figure, figure_name, format_figure
from pipelines.templatetags.gateline import duration

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
    """`limit`: of the month that runs, in US dollars."""

    month: date
    spending: Spending
    limit: Decimal | None = None

    @property
    def of_limit(self) -> str:
        return "" if self.limit is None else usage.dollars_text(self.limit)

    @property
    def amount(self) -> str:
        return self.spending.price_text or usage.dollars_text(Decimal())

    @property
    def percent(self) -> int:
        """Percentage of the limit."""
        if self.limit is None:
            return 0
        # A limit of 0 is used up before anything is spent.
        return min(100, int(100 * (self.spending.cost or 0) / self.limit)) if self.limit else 100


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
    """The newest first; with a limit also the one that runs, whatever it cost."""
    # Months are those of UTC, each by its first day.
    by_month, today = usage.spending_by_month(project.pk), now.astimezone(UTC).date().replace(day=1)
    limit = project.month_cost_usd
    if limit is not None:
        by_month = {**by_month, today: by_month.get(today, usage.NOTHING)}
    rows = sorted(by_month.items(), reverse=True)[:MONTHS]
    return [MonthRow(month, spent, limit if month == today else None) for month, spent in rows]
