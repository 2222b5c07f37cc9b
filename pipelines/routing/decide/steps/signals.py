"""Step 3 of law §5: the first valid signal decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.decide.decisions import DecisionAnswer, Finish, Wait
from pipelines.routing.decide.steps import gates
from pipelines.routing.decide.steps.gates import route_past_station_gate
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute, forced_route
from pipelines.routing.decide.steps.targets import (
    TransitionCandidate,
    decision_preventing_move_or_none,
    decision_to_enter_targets,
    decision_to_enter_unless_obstructed,
)
from pipelines.routing.document.gates import JUMP_GATE
from pipelines.routing.document.operand_trace import ObservedOperand

STEP = "signal"


def route_or_decision_by_signal(
    routing: RoutingContext, signal: Mapping[str, Any]
) -> DecisionAnswer | TakenRoute:
    """Follow the signal to where it leads: a decision, or the route with which the rules begin."""
    verdict = signal["verdict"]
    saw = tuple(
        ObservedOperand(key, signal[key]) for key in ("verdict", "reason") if signal.get(key) is not None
    )
    routing.add_trace_entry(STEP, None, True, f"the signal says {verdict}", saw)
    # No gate and no rule stands before an abort (law §5, step 3).
    if verdict == "abort":
        return Finish("failed", "failed", None, "signal")
    if verdict == "proceed":
        return route_past_station_gate(routing, forced_route("success", "signal"), people_only=True)
    return (
        _jump_or_hold_by_signal(routing, signal) if verdict == "hold" else _rework_or_fail_by_signal(routing)
    )


def _rework_or_fail_by_signal(routing: RoutingContext) -> DecisionAnswer | TakenRoute:
    """This station again, up to its `max_retries`; exhausted, the verdict becomes fail and nothing else changes."""
    most = routing.station.limits.signal_retries
    # Those in a row at this station, not in all (line-document.md).
    done = routing.facts.signal_reworks
    if done < most:
        return decision_to_enter_unless_obstructed(
            routing, TransitionCandidate((routing.station.key,), "signal")
        )
    routing.add_trace_entry(STEP, None, False, f"reworked {done} of {most} times: the verdict becomes fail")
    # Once `rework` signals are used up the visit did not pass (law §14).
    routing.passing_revoked = True
    return route_past_station_gate(routing, TakenRoute(routing.recorded.with_verdict("fail")))


def _jump_or_hold_by_signal(
    routing: RoutingContext, signal: Mapping[str, Any]
) -> DecisionAnswer | TakenRoute:
    meta = signal.get("meta") or {}
    if signal.get("reason") == "already_complete":
        target = meta.get("targetState")
        if type(target) is str and target in routing.line.jump_targets:
            return _decision_to_jump(routing, target)
        routing.add_trace_entry(STEP, None, False, "the target of the jump is missing or unknown")
    question = meta.get("question")
    return Wait("blocked", question=question if type(question) is str else None)


def _decision_to_jump(routing: RoutingContext, target: str) -> DecisionAnswer | TakenRoute:
    """Step 7 without the revisit policy, then, where the line asks people at all, a review of the jump itself."""
    # A visit that ended by a jump did not pass (law §14).
    routing.passing_revoked = True
    reviewed = routing.line.asks_a_person
    if reviewed:
        against = gates.decision_of_first_objection_or_none(routing, STEP, [JUMP_GATE], None)
        if against is not None:
            return against
    way = TransitionCandidate((target,), "signal")
    stopped = decision_preventing_move_or_none(routing, way)
    if stopped is not None:
        return stopped
    if reviewed and not gates.is_approved(routing, JUMP_GATE):
        routing.add_trace_entry(STEP, None, False, "waits for a review of the jump")
        return Wait("awaiting_review", (JUMP_GATE.key,), way.targets)
    return decision_to_enter_targets(routing, way)
