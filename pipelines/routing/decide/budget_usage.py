"""Consumption of named budgets: what a move would use and how much is already used, from counted facts alone
(law §8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.model import ParsedLine

SAME, CROSS = "same", "cross"


class BudgetUsage(Protocol):
    """The facts that count; `visits` is asked for by `visit_count`."""

    @property
    def edges(self) -> Mapping[str, int]: ...
    @property
    def rules(self) -> Mapping[str, int]: ...
    @property
    def failures(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """Target of a move. `target`: a station, an end or `@blocked`; `rule`: the id of the rule that is taken."""

    source: str
    target: str
    rule: str | None = None
    failure_type: str | None = None


def failure_count_key(station: str, failure_type: str) -> str:
    """The key under which facts count why a station was left, such as `testing:test gap`."""
    return f"{station}:{failure_type}"


def rework_kind_or_none(line: ParsedLine, source: str, target: str) -> str | None:
    """`same` or `cross` where the edge is rework, None where it is not (docs/rules.md, Budgets).

    A station of another one's stage is a rework station: entering it is rework, leaving it forward is not.
    """
    if source not in line.stations_by_key or target not in line.stations_by_key:
        return None
    here, there = line.stage_key(source), line.stage_key(target)
    # A stage and its rework stations are one place: moves within it are told apart below
    if there != here:
        return CROSS if line.index_of_station(there) < line.index_of_station(here) else None
    return SAME if source == target or target != there else None


def consumes_budget(line: ParsedLine, budget: Budget, step: MoveTarget) -> bool:
    """Return whether the move would consume one unit of this budget."""
    source, target = step.source, step.target
    match budget.kind:
        case "rules":
            return step.rule in budget.rules
        case "edges":
            return f"{source}->{target}" in budget.edges
    # Ends are no station to enter or rework; budgets of rules and edges count them above.
    if target not in line.stations_by_key:
        return False
    match budget.kind:
        case "station":
            return target in budget.stations
        case "failure_type":
            here = not budget.stations or source in budget.stations
            return here and step.failure_type in budget.failure_types
        case "same_stage":
            in_stage = not budget.stations or line.stage_key(source) in budget.stations
            return in_stage and rework_kind_or_none(line, source, target) == SAME
        case "cross_stage":
            return rework_kind_or_none(line, source, target) == CROSS
        case "restart":
            return _is_restart(line, budget, source, target)
        case "loop":
            # A round of a loop is used when its first station is entered again from within.
            return target == budget.stations[0] and source in budget.stations
    raise AssertionError(budget.kind)


def used_amount_before_move(
    line: ParsedLine, budget: Budget, step: MoveTarget, counted: BudgetUsage, visits: Mapping[str, int]
) -> int:
    """Return how much of the budget is used before this move, which would consume it. `visits`: of the
    stations that the budget names."""
    match budget.kind:
        case "rules":
            return sum(counted.rules.get(rule, 0) for rule in budget.rules)
        case "edges":
            return sum(counted.edges.get(edge, 0) for edge in budget.edges)
        case "station":
            return sum(visits.get(station, 0) for station in budget.stations)
        case "failure_type":
            return sum(n for name, n in counted.failures.items() if _does_count_name_consume(budget, name))
    # Rework within a stage is counted for each stage by itself.
    stage = line.stage_key(step.source) if budget.kind == "same_stage" else None
    return sum(n for edge, n in counted.edges.items() if _does_edge_consume(line, budget, edge, stage))


def _does_count_name_consume(budget: Budget, name: str) -> bool:
    # A key of a station has no colon, the type of a failure may.
    station, _, failure_type = name.partition(":")
    return failure_type in budget.failure_types and (not budget.stations or station in budget.stations)


def _does_edge_consume(line: ParsedLine, budget: Budget, edge: str, stage: str | None) -> bool:
    source, _, target = edge.partition("->")
    if source not in line.stations_by_key:
        return False
    in_stage = stage is None or line.stage_key(source) == stage
    return in_stage and consumes_budget(line, budget, MoveTarget(source, target))


def _is_restart(line: ParsedLine, budget: Budget, source: str, target: str) -> bool:
    """Return whether the move leads back to the start of the work, from a later station."""
    begins = budget.stations or (line.start,)
    return (
        target in begins
        and source in line.stations_by_key
        and line.index_of_station(target) < line.index_of_station(source)
        and source not in begins
    )
