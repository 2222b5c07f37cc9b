"""Where a token is about to go, for the checks of step 7."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.decide.steps.context import Case
from pipelines.routing.document.rules import Rule


@dataclass(slots=True)
class TransitionCandidate:
    """Where a token is about to go, and why. Nobody changes one.

    `rule` names the rule that led here; `takes` says that this very rule is taken, so that its budgets and
    the revisit policy bind. `targets` holds stations, or one end, or `@blocked`. `over`: named budgets that were
    found spent on the way here.
    """

    targets: tuple[str, ...]
    by: str
    rule: Rule | None = None
    takes: bool = False
    feedback: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    over: frozenset[str] = frozenset()
    _stations: tuple[str, ...] | None = None

    @property
    def rule_id(self) -> str | None:
        return self.rule.id if self.rule else None

    @property
    def shown(self) -> str:
        return " + ".join(self.targets)


def stations(case: Case, way: TransitionCandidate) -> tuple[str, ...]:
    """Those among its targets. Every check asks, so they are looked up once."""
    if way._stations is None:
        known = case.line.stations_by_key
        way._stations = tuple([target for target in way.targets if target in known])
    return way._stations
