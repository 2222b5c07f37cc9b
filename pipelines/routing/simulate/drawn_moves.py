"""Edges of a drawn line that a walk follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.lint.transitions import drawn_edge_key_or_empty
from pipelines.routing.decide.decisions import Finish, Move
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.state import StepRecord


@dataclass(frozen=True, slots=True)
class DrawnMove:
    """Move along a drawn edge. `target`: a station or an end. `rule`: "" where no rule was taken. `edge`: the
    drawn edge, as `drawn_edge_key_or_empty` names it."""

    source: str
    target: str
    rule: str
    edge: str


def moves_and_finishes(line: ParsedLine, records: Iterable[StepRecord]) -> Iterator[DrawnMove]:
    """Every move, in order."""
    for record in records:
        for station, decision in record.decisions:
            if not isinstance(decision, Move | Finish):
                continue
            rule = decision.rule or ""
            rule_id = rule if rule in record.rules else ""
            by = "rule" if rule_id else decision.by
            for target in decision.to if isinstance(decision, Move) else (decision.end,):
                yield DrawnMove(
                    station, target, rule_id, drawn_edge_key_or_empty(line, station, by, rule, target)
                )
