"""Step 6 of law §5: rules in order, the first true one wins."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.routing.basics.bounds import EvaluationFailed, NotAnswered
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Stuck, TestedRules, TraceEntry, Wait
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute
from pipelines.routing.document.rules import Rule


@dataclass(slots=True)
class RuleMatch:
    """The first rule that was true. `text`: from the last answered evaluation that it reached."""

    rule: Rule
    text: str | None


def first_match_or_decision(routing: RoutingContext, route: TakenRoute) -> RuleMatch | DecisionAnswer | None:
    """The match, or None, or a decision where a rule is faulty, cannot be evaluated, or has to ask."""
    view, clock = routing.condition_view(route), routing.clock
    rules, tests = routing.station.rules_above_first_faulty, routing.station.rule_tests
    tested = TestedRules(view, rules, view.steps.left)
    if routing.left_out:
        # A route that the gate of a rule demanded leaves that rule out (law §5, Forced route).
        tested.without = frozenset(routing.left_out)
        rules = tuple(rule for rule in rules if rule.id not in routing.left_out)
        tests = tuple(rule.test for rule in rules)
    times = tested.times = [clock()] if clock else []
    number = 0
    try:
        for number, test in enumerate(tests, start=1):
            true = test(view)
            if clock:
                times.append(clock())
            if true:
                tested.result, rule = True, rules[number - 1]
                return RuleMatch(rule, view.text if rule.has_evaluations else None)
    except (EvaluationFailed, NotAnswered) as error:
        tested.result, tested.why, answer = _trace_result_reason_and_decision_of_unanswered(
            rules[number - 1], error
        )
        if clock:
            times.append(clock())
        return answer
    finally:
        # Noted on every path out: a match, an error, a question, or no match.
        if number:
            tested.count = number
            routing.trace.append(tested)
    # Only now: a fault behind the match raises nothing (law §5, step 6).
    faulty = routing.station.first_faulty_rule_or_none
    if faulty is None:
        return None
    routing.trace.append(TraceEntry("rules", faulty.id, "error", (), str(faulty.fault)))
    return Stuck("InvalidTransitionSyntax", f"Rule {faulty.id} cannot be read: {faulty.fault}", faulty.id)


def _trace_result_reason_and_decision_of_unanswered(
    rule: Rule, error: EvaluationFailed | NotAnswered
) -> tuple[str, str, DecisionAnswer]:
    """Return the trace result of a rule that is neither true nor false, the reason, and the decision."""
    if isinstance(error, EvaluationFailed):
        return "error", error.message, Stuck(error.name, error.message, rule.id)
    waits = Wait("blocked", evaluation=error.evaluation) if error.unanswered else Ask(error.evaluation)
    return "ask", str(error), waits
