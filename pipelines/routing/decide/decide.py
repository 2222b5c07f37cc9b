"""`decide`: from a line and a situation to a decision, steps 3 to 8 of law §5.

Pure: the same line and the same situation give the same decision, always. Bounded: see `bounds`.
"""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.decisions import DecisionAnswer, Finish, Move, Stuck, Trace, Wait
from pipelines.routing.decide.outcome_judgement import undecisive_facts
from pipelines.routing.decide.situation import Situation, check_situation
from pipelines.routing.decide.steps import gates
from pipelines.routing.decide.steps.gates import route_past_station_gate
from pipelines.routing.decide.steps.policies import decide_by_on_failure_policy, decide_without_match
from pipelines.routing.decide.steps.routing_context import (
    Clock,
    RoutingContext,
    TakenRoute,
    demanded_route,
    fallback_route,
)
from pipelines.routing.decide.steps.rule_matching import RuleMatch, first_match_or_decision
from pipelines.routing.decide.steps.signals import route_or_decision_by_signal
from pipelines.routing.decide.steps.targets import (
    TransitionCandidate,
    decision_preventing_move_or_none,
    decision_to_enter_targets,
)
from pipelines.routing.decide.variable_composition import compose_variables
from pipelines.routing.document import checks
from pipelines.routing.document.compose_strategies import ComposeFailed
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import FALLBACK_READS_AGAIN, ParsedLine
from pipelines.routing.document.rules import ORIGIN, Rule


def decide(line: ParsedLine, situation: Situation, *, clock: Clock | None = None) -> DecisionAnswer:
    """The decision with its trace. Raises SituationError where the situation does not fit the line.

    With a clock the trace says how long each rule took; the decision itself never depends on it.
    """
    check_situation(line, situation)
    routing = RoutingContext(line, situation, clock)
    step = _decision_or_route_before_rules(routing)
    was_forced, outcome_state = False, routing.recorded.outcome_state
    while isinstance(step, TakenRoute):
        outcome_state = step.seen.outcome_state
        # Law §5, Forced route: one in a decision; a person's word begins anew.
        if step.forced and was_forced and not step.anew:
            step = _second_forced_route(routing, step)
        else:
            was_forced = step.forced and not step.anew
            step = _decision_or_next_route_by_rules(routing, step)
    if isinstance(step, Move):
        # A gate did not let it through: a check failed, or a person said something other than approve.
        step.standing = "failed" if step.by == "gate" else outcome_state
    if isinstance(step, Move | Finish):
        step.passed = routing.visit_passed
    step.trace = Trace(routing.trace)
    return step


def _decision_or_route_before_rules(routing: RoutingContext) -> DecisionAnswer | TakenRoute:
    """Steps 3, 4 and 5: what comes before the rules, and the outcome that the rules start with."""
    # Law §13: a fact may have set result, verdict and eval before all else.
    if routing.judged.by:
        why = f"{routing.judged.by} counts as {routing.judged.counts_as}"
        routing.add_trace_entry("facts", None, True, why, routing.judged.saw)
    for name, fact in undecisive_facts(routing.judged):
        routing.add_trace_entry("facts", None, True, f"{name} decides nothing", (fact,))
    # Law §5, step 3: the first valid signal decides.
    signal = routing.situation.outcome.deciding_signal
    if signal is not None:
        return route_or_decision_by_signal(routing, signal)
    # Law §5, step 4: what is blocked takes the fallback and skips the station gate.
    why = _blocked_reason_or_empty(routing)
    if why:
        routing.add_trace_entry("blocked", None, True, why)
        return fallback_route()
    # Law §5, step 5
    return route_past_station_gate(routing, TakenRoute(routing.recorded))


def first_route_to_rules_or_none(routing: RoutingContext) -> TakenRoute | None:
    """The outcome as the rules of its station read it first; None where they are not asked, because a signal or the
    policy decides before them."""
    step = _decision_or_route_before_rules(routing)
    return (
        None if not isinstance(step, TakenRoute) or _is_failed_without_failure_rules(routing, step) else step
    )


def _is_failed_without_failure_rules(routing: RoutingContext, route: TakenRoute) -> bool:
    return route.seen.outcome_state == "failed" and not routing.line.policy.failure_rules


def _blocked_reason_or_empty(routing: RoutingContext) -> str:
    """Return the reason that the outcome takes the fallback (step 4), or ""."""
    outcome = routing.situation.outcome
    if routing.recorded.outcome_state == "blocked":
        return "the outcome is blocked"
    if outcome.blockers:
        return f"{len(outcome.blockers)} blocker{'s' if len(outcome.blockers) > 1 else ''}"
    # Only with exit code 0: a failure is for the rules to take (law §5, step 4).
    required = routing.station.result_document == "required" and outcome.exit_code == 0
    if required and (outcome.output is MISSING or outcome.output_error):
        return "the required result document is missing or invalid"
    return ""


def _decision_or_next_route_by_rules(
    routing: RoutingContext, route: TakenRoute
) -> DecisionAnswer | TakenRoute:
    """Step 6 and, after a match, steps 7 to 9."""
    # Since revision 3 such output counts as none on all routes behind the fallback (law §12).
    routing.fell_back |= route.no_output and routing.line.revision > FALLBACK_READS_AGAIN
    # Law §4: `failure_rules: no` sends a failed outcome, a forced one too, to `on_failure`.
    if _is_failed_without_failure_rules(routing, route):
        routing.add_trace_entry("rules", None, True, "failure_rules: no")
        return decide_by_on_failure_policy(routing, feedback=route.reason)
    # Law §5, step 6
    matched = first_match_or_decision(routing, route)
    if matched is None:
        return decide_without_match(routing, route)
    return (
        _decision_or_next_route_of_match(routing, route, matched)
        if isinstance(matched, RuleMatch)
        else matched
    )


def _decision_or_next_route_of_match(
    routing: RoutingContext, route: TakenRoute, match: RuleMatch
) -> DecisionAnswer | TakenRoute:
    rule = match.rule
    guards = [routing.line.gate(key) for key in rule.gates]
    # A word other than approve decides at once, before step 7 and before the checks (law §5).
    against = (
        gates.decision_of_first_objection_or_none(routing, "rule_gates", guards, rule) if guards else None
    )
    if against is not None:
        return against
    text = match.text if rule.feedback else None
    # Only the latest is handed on, and a person's reason counts as the latest (law §5, §12).
    feedback = text if route.reason is None else route.reason
    try:
        # Law §5, step 7: compose comes first; where it fails, `on_failure` decides.
        variables = _compose_variables(routing, rule) if rule.compose else {}
    except ComposeFailed as failure:
        routing.add_trace_entry("target", rule, "error", f"compose: {failure}")
        return decide_by_on_failure_policy(routing, rule, "compose_failed", feedback)
    targets = _resolved_targets_or_none(routing, rule)
    # The task began here, or the station that it came from is gone.
    if targets is None:
        routing.add_trace_entry("target", rule, "error", "there is no origin")
        return Stuck(
            "NoOrigin", "No rule has brought this task here, so it has no origin to go back to.", rule.id
        )
    way = TransitionCandidate(targets, route.by, rule, takes=True, feedback=feedback, variables=variables)
    # Law §5, steps 7, 8 and 9
    return (
        decision_preventing_move_or_none(routing, way)
        or _decision_of_gates_or_none(routing, way, guards)
        or decision_to_enter_targets(routing, way)
    )


def _compose_variables(routing: RoutingContext, rule: Rule) -> dict[str, Any]:
    # Step 7 reads the facts of this moment, not those of when a gate asked.
    facts = routing.of_now.facts
    return compose_variables(
        rule.compose, routing.composable_document, {**facts.inputs, **facts.variables}, routing.steps
    )


def _resolved_targets_or_none(routing: RoutingContext, rule: Rule) -> tuple[str, ...] | None:
    """The targets with `@origin` resolved; None if there is no origin."""
    if rule.to != (ORIGIN,):
        return rule.to
    origin = routing.facts.origin
    # This version may not have the station that the task came from.
    return (origin,) if origin in routing.line.stations_by_key else None


def _decision_of_gates_or_none(
    routing: RoutingContext, candidate: TransitionCandidate, guards: list[Gate]
) -> DecisionAnswer | TakenRoute | None:
    """Step 8: run the checks of all gates, then ask the people of all of them together. None if everything passed."""
    if not guards:
        return None
    # Law §12: a gate whose word demanded this route is passed on it.
    guards = gates.gates_not_passed_by_word(routing, "rule_gates", guards, candidate.rule)
    # A tool whose result is not known is asked first; then it is decided again (law §3, Asking).
    tool_question = gates.pending_tool_decision_or_none(routing, "rule_gates", guards, candidate.rule)
    if tool_question is not None:
        return tool_question
    by_tools = [gates.tool_action_and_text(routing, "rule_gates", gate, candidate.rule) for gate in guards]
    read = routing.check_field_reader([gate.key for gate in guards])
    by_checks = [
        gates.worst_action_of_checks(routing, "rule_gates", gate, candidate.rule, read) for gate in guards
    ]
    actions = [
        checks.worst_action([check, tool]) for check, (tool, _) in zip(by_checks, by_tools, strict=True)
    ]
    worst = checks.worst_action(actions)
    # Law §5, step 8: the checks of all gates come before the people of any.
    if worst == "abort":
        return gates.rejected_finish(candidate.rule)
    if worst == "rework":
        return demanded_route(
            routing, candidate.rule, "\n".join(text for _, text in by_tools if text) or None
        )
    undecided = [
        gate.key
        for gate, action in zip(guards, actions, strict=True)
        if gates.needs_person(routing, "rule_gates", gate, action, candidate.rule)
    ]
    if not undecided:
        return None
    routing.add_trace_entry("rule_gates", candidate.rule, False, f"waits for {', '.join(undecided)}")
    return Wait("awaiting_review", tuple(undecided), candidate.targets, candidate.rule_id)


def _second_forced_route(routing: RoutingContext, route: TakenRoute) -> DecisionAnswer | TakenRoute:
    """A second forced route is a loop. A person's rework never ends in one (law §12): the policy decides as if no
    rule had matched."""
    rule = route.demanded_by
    # law §12: what a person demanded never ends in an error of the line
    if routing.spoken:
        routing.add_trace_entry(
            "rules", rule, True, "a second forced route after a person's word: the policy decides"
        )
        return decide_without_match(routing, route)
    routing.add_trace_entry("rules", rule, "error", "a second forced route")
    message = "One decision took a forced route already, and a second one was demanded."
    return Stuck("ForcedRouteLoop", message, rule.id if rule else None)
