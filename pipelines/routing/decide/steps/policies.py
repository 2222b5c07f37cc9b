"""Policy decisions when no rule matched (law §4, Without a match)."""

from __future__ import annotations

from pipelines.routing.decide.decisions import DecisionAnswer, Escalate, Finish, Stuck, Wait
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute, fallback_route
from pipelines.routing.decide.steps.targets import TransitionCandidate, decision_to_enter_unless_obstructed
from pipelines.routing.document.rules import Rule

NO_MATCH = "NoValidTransition"


def decide_without_match(routing: RoutingContext, route: TakenRoute) -> DecisionAnswer | TakenRoute:
    # Law §4: failed by `on_failure`, blocked to `@blocked`, passed by `no_rules` or `no_match`.
    outcome_state = route.seen.outcome_state
    if outcome_state == "failed":
        return decide_by_on_failure_policy(routing, feedback=route.reason)
    if outcome_state == "blocked":
        routing.add_trace_entry("rules", None, True, "blocked, and no rule takes it")
        return Wait("blocked")
    return (
        _decide_by_no_match_policy(routing) if routing.station.rules else _decide_by_no_rules_policy(routing)
    )


def decide_by_on_failure_policy(
    routing: RoutingContext, rule: Rule | None = None, cause: str | None = None, feedback: str | None = None
) -> DecisionAnswer | TakenRoute:
    """The knob `on_failure`; with `cause` (`compose_failed`) of a rule that matched.

    `feedback` goes to the station that it leads to, whichever that is.
    """
    knob = routing.line.policy.on_failure
    routing.add_trace_entry("rules", rule, True, f"on_failure: {knob}" + (f" after {cause}" if cause else ""))
    rule_id = rule.id if rule else None
    if knob == "halt":
        return Finish("failed", "failed", rule_id, "policy", cause)
    if knob == "stuck":
        return Stuck(cause or NO_MATCH, _failed_message(routing, cause), rule_id)
    if knob == "escalate":
        return Escalate(cause or "on_failure", rule_id)
    if knob == "fallback":
        return fallback_route(rule)
    return decision_to_enter_unless_obstructed(
        routing, TransitionCandidate((knob.removeprefix("station:"),), "policy", rule, feedback=feedback)
    )


def _failed_message(routing: RoutingContext, cause: str | None) -> str:
    if cause:
        return f"What the rule should store could not be found in the output of {routing.station.key}."
    return f"{routing.station.key} failed, and no rule takes it."


def _decide_by_no_rules_policy(routing: RoutingContext) -> DecisionAnswer | TakenRoute:
    knob = routing.line.policy.no_rules
    routing.add_trace_entry("rules", None, True, f"no_rules: {knob}")
    if knob == "refuse":
        return Stuck(NO_MATCH, f"{routing.station.key} has no rules, and this line wants some.")
    return decision_to_enter_unless_obstructed(
        routing,
        TransitionCandidate(
            (_next_station_or_completed(routing),) if knob == "advance" else ("completed",), "policy"
        ),
    )


def _decide_by_no_match_policy(routing: RoutingContext) -> DecisionAnswer | TakenRoute:
    knob = routing.line.policy.no_match
    routing.add_trace_entry("rules", None, True, f"no_match: {knob}")
    if knob == "default":
        return decision_to_enter_unless_obstructed(
            routing, TransitionCandidate((_next_station_or_completed(routing),), "policy")
        )
    if knob == "fail":
        return Finish("failed", "failed", None, "policy", NO_MATCH)
    if knob == "escalate":
        return Escalate("no_match")
    if knob == "fallback":
        return fallback_route()
    return Stuck(NO_MATCH, f"No rule of {routing.station.key} takes this outcome.")


def _next_station_or_completed(routing: RoutingContext) -> str:
    """The next station in order; after the last the task is completed."""
    station = routing.line.next_station_or_none(routing.station.key)
    return station.key if station else "completed"
