"""Rules that can be taken at all when nothing was counted yet (law §5, step 7). What stops one then
always stops it, since counts only grow: its gates never ask anybody."""

from __future__ import annotations

from pipelines.routing.basics.outcome import Outcome
from pipelines.routing.decide.situation import Facts, Situation
from pipelines.routing.decide.steps.routing_context import RoutingContext, TransitionCandidate
from pipelines.routing.decide.steps.targets import decision_preventing_move_or_none
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import ORIGIN, Rule
from pipelines.routing.document.stations import Station


def likeliest_origin_or_none(line: ParsedLine, station: Station) -> str | None:
    """A station from which a rule may have brought the task here, if a rule leads back there: one where as few of them
    as possible are stopped."""
    back = [rule for rule in station.rules if rule.fault is None and rule.to == (ORIGIN,)]
    others = [item.key for item in line.stations if item.key != station.key]
    if not back or not others:
        return None
    return min(others, key=lambda key: sum(_is_stopped_from(line, station, rule, key) for rule in back))


def is_always_stopped(line: ParsedLine, station: Station, rule: Rule) -> bool:
    """Tell whether step 7 stops the rule whatever happened before."""
    if rule.to != (ORIGIN,):
        return _is_stopped_from(line, station, rule, None)
    others = [item.key for item in line.stations if item.key != station.key]
    return all(_is_stopped_from(line, station, rule, key) for key in others)


def _is_stopped_from(line: ParsedLine, station: Station, rule: Rule, origin: str | None) -> bool:
    # Everything that can change is at its best: no counts, preconditions met, gate passed.
    facts = Facts(preconditions=dict.fromkeys(line.requirements_of(station.key), True), origin=origin)
    case = RoutingContext(line, Situation(station.key, Outcome(result="success"), facts))
    case.gate_passed = True
    targets = rule.to if origin is None else (origin,)
    return (
        decision_preventing_move_or_none(case, TransitionCandidate(targets, "rule", rule, takes=True))
        is not None
    )
