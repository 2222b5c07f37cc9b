"""Conditions asked of a recorded outcome, each on its own: as the rules of the station would read it first, by the
evaluator of `decide`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed, NotAnswered
from pipelines.routing.decide.decide import first_route_to_rules_or_none
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.document.rules import Rule


class ConditionAnswer(StrEnum):
    """`UNKNOWN`: it waits for an answer that nobody gave then; `FAILED`: it cannot be evaluated on this outcome."""

    MATCHES = "matches"
    NO = "no"
    UNKNOWN = "unknown"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """Rule that was tested. `why`: of one that failed or is not known."""

    rule: Rule
    answer: ConditionAnswer
    saw: tuple[ObservedOperand, ...] = ()
    why: str = ""


def line_without_station_gate(line: ParsedLine, station: str) -> ParsedLine:
    """The line in which every outcome of this station comes to its rules: no people and no checks stand before them."""
    stations = tuple(
        replace(candidate, gate=None) if candidate.key == station else candidate
        for candidate in line.stations
    )
    return replace(line, stations=stations)


def answers_of_tested_rules_or_none(
    line: ParsedLine, recorded: Mapping[str, Any], rules: Sequence[Rule]
) -> list[RuleAnswer] | None:
    """Return the tested rules of `line` as `line_without_station_gate` makes it; None where no rule is tested, because
    a signal or the policy decides. Raises Malformed where what is recorded does not fit it."""
    case = RoutingContext(line, read_situation(recorded))
    route = first_route_to_rules_or_none(case)
    return None if route is None else [_tested_rule_answer(case, route, rule) for rule in rules]


def _tested_rule_answer(routing: RoutingContext, route: TakenRoute, rule: Rule) -> RuleAnswer:
    # Each rule has all the steps of a decision, whatever those before it cost.
    routing.steps = EvaluationBudget()
    view = routing.condition_view(route)
    try:
        matches = rule.when.test(view)
    except EvaluationFailed as fault:
        return RuleAnswer(rule, ConditionAnswer.FAILED, tuple(view.saw), fault.message)
    except NotAnswered as open_question:
        return RuleAnswer(rule, ConditionAnswer.UNKNOWN, tuple(view.saw), str(open_question))
    answer = ConditionAnswer.MATCHES if matches else ConditionAnswer.NO
    return RuleAnswer(rule, answer, tuple(view.saw))
