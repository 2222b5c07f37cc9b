"""Highest cost of a task: how often each station can run, times what a run may cost (law §13).

A program is stopped when a step that it reported passed its limit. So each run may cost one such step
more, which is no part of the amount. By rules and policy; what a person sends back runs once more and
comes on top, within the task's own limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.visits import max_entries_by_station, unbounded_cycles
from pipelines.routing.decide.outcome_judgement import exact_amount
from pipelines.routing.document.kinds import is_unpriced, may_cost
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station


@dataclass(frozen=True, slots=True)
class StationCost:
    """`most`: of one run, None where nothing limits it. `cycle`: the stations round which nothing but the cap on visits
    limits how often it runs."""

    station: str
    runs: int
    most: Decimal | None
    cycle: tuple[str, ...] = ()

    @property
    def highest_amount_or_none(self) -> Decimal | None:
        return None if self.most is None else self.runs * self.most


@dataclass(frozen=True, slots=True)
class CostBound:
    """`amount` in dollars, None where nothing limits it; `runs` may each cost a reported step more. `own`: the limit of
    the task, and `is_task_limit` whether it is the least."""

    parts: tuple[StationCost, ...]
    own: Decimal | None
    forks: bool
    unknown: bool = False
    """Whether one of them reports no price: no limit in dollars holds it."""

    @property
    def runs(self) -> int:
        return sum(part.runs for part in self.parts)

    @property
    def amount_without_task_limit(self) -> Decimal | None:
        """Bound without the limit of the task, except that no run may cost more than that."""
        amounts = [part.highest_amount_or_none for part in self.parts]
        known = [amount for amount in amounts if amount is not None]
        # One part without a limit leaves the whole without one.
        return sum(known, Decimal()) if len(known) == len(amounts) else None

    @property
    def is_task_limit(self) -> bool:
        """Branches that run side by side know of each other only when they have reported, so there it is no bound."""
        amount = self.amount_without_task_limit
        return (
            self.own is not None
            and not self.forks
            and not self.unknown
            and (amount is None or self.own < amount)
        )

    @property
    def amount(self) -> Decimal | None:
        return self.own if self.is_task_limit else self.amount_without_task_limit


def cost_bound_or_none(subject: LintSubject, runs: Mapping[str, int] | None = None) -> CostBound | None:
    """None where no station that is reached costs anything, as far as the line says. `runs`: of each station, where
    more is counted than rules and policy."""
    line = subject.line
    own = None if line.limits.cost_usd is None else exact_amount(line.limits.cost_usd)
    visits = max_entries_by_station(subject) if runs is None else runs
    cycles = {key: cycle for cycle in unbounded_cycles(subject) for key in cycle}
    parts = tuple(
        StationCost(
            station.key,
            visits[station.key],
            _cost_limit_of_run_or_none(station, own),
            cycles.get(station.key, ()),
        )
        for station in line.stations
        if station.key in visits and may_cost(station)
    )
    unknown = any(is_unpriced(line.station(part.station)) for part in parts)
    return CostBound(parts, own, _has_forks(line), unknown) if parts else None


def _cost_limit_of_run_or_none(station: Station, own: Decimal | None) -> Decimal | None:
    if is_unpriced(station):
        return None
    station_limit = None if station.limits.cost_usd is None else exact_amount(station.limits.cost_usd)
    return min((limit for limit in (station_limit, own) if limit is not None), default=None)


def _has_forks(line: ParsedLine) -> bool:
    return any(len(rule.to) > 1 for station in line.stations for rule in station.rules)
