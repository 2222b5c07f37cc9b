"""Effects that follow once a rule has matched, or none has: all that routes, and nothing else.

Two effects that are equal decide equally in every situation of their region; labels, names, positions and
the ids of rules are no part of them. The knob `revisit` is left to `structure` where both follow it, so
that one changed knob is one change and not one for every rule.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from pipelines.routing.basics.canonical import canonical_json
from pipelines.routing.decide.check_fields import ALIASES
from pipelines.routing.document.checks import RANK, Check, CheckGroup
from pipelines.routing.document.gate_tools import TOOL
from pipelines.routing.document.gates import SAMPLE, Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import BLOCKED, ORIGIN, Rule
from pipelines.routing.document.stations import Station

Key = tuple[Any, ...]
NO_MATCH = "NoValidTransition"


@dataclass(frozen=True, slots=True)
class RoutingEffect:
    """Effect on routing. `to`: targets, or what happens instead of a move. `revisit`: what keeps the move
    from coming back, and whether that is the line's knob."""

    to: frozenset[Key]
    gates: tuple[Key, ...] = ()
    compose: Key = ()
    feedback: Key = ()
    budgets: Key = ()
    revisit: tuple[str, bool] = ("allow", False)
    error: str | None = None

    def differing_fields(self, other: RoutingEffect) -> tuple[str, ...]:
        """Names of what is not the same; a knob that both follow is a matter of `structure`."""
        names = [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]
        by_knob = self.revisit[1] and other.revisit[1]
        equal = by_knob or self.revisit[0] == other.revisit[0]
        return tuple(name for name in names if name != "revisit" or not equal)

    def without_policy_revisit(self) -> RoutingEffect:
        """Return the effect without what the knob says: equal to another's where `differing_fields` names nothing,
        and quicker."""
        return replace(self, revisit=("", True)) if self.revisit[1] else self


@dataclass(frozen=True, slots=True)
class LinePair:
    """The two versions."""

    old: ParsedLine
    new: ParsedLine


def rule_effect(line: ParsedLine, station: Station, rule: Rule) -> RoutingEffect:
    gates = tuple(
        key for gate_key in rule.gates if (key := gate_signature_or_none(line, line.gate(gate_key)))
    )
    to_stations = [key for key in rule.to if key in line.stations_by_key or key == ORIGIN]
    return RoutingEffect(
        # A set: the order of a fork's targets decides nothing.
        to=frozenset(target_signature(line, key) for key in rule.to),
        gates=gates,
        compose=_compose_signature(line, rule),
        feedback=_feedback_signature(rule),
        budgets=_budget_signature(line, station, rule, bool(to_stations)),
        revisit=_revisit_option_and_whether_of_policy(line, rule) if to_stations else ("allow", False),
    )


def target_signature(line: ParsedLine, key: str) -> Key:
    if key in line.stations_by_key or key in (ORIGIN, BLOCKED):
        return (key,)
    # Under one key an end of another kind is another target.
    return (key, line.end(key).kind)


def _compose_signature(line: ParsedLine, rule: Rule) -> Key:
    if not rule.compose:
        return ()
    entries = [(entry.var, entry.path.text if entry.path else None, entry.strategy) for entry in rule.compose]
    # law §5 step 7: where compose fails, `on_failure` decides.
    return (*entries, line.policy.on_failure)


def _feedback_signature(rule: Rule) -> Key:
    """Return the evaluations that give feedback. Of several evaluations the last that was reached speaks:
    then the condition itself is part of it."""
    evaluations = rule.evaluations if rule.feedback else ()
    if len(evaluations) < 2:
        return tuple(evaluation.key for evaluation in evaluations)
    return (canonical_json(rule.source.get("when")),)


def _budget_signature(line: ParsedLine, station: Station, rule: Rule, to_stations: bool) -> Key:
    free = rule.max_retries is None and rule.max_visits is None
    # law §4: `self_loop_limit` binds a rule that has no limit of its own.
    loops = free and (station.key in rule.to or rule.to == (ORIGIN,))
    bounds = (
        rule.max_retries,
        rule.max_visits if to_stations else None,
        line.policy.self_loop_limit if loops else None,
    )
    if bounds == (None, None, None):
        return ()
    how = target_signature(line, rule.exhausted_to) if rule.exhausted_to else rule.on_exhausted
    return (*bounds, how or line.policy.on_exhausted)


def _revisit_option_and_whether_of_policy(line: ParsedLine, rule: Rule) -> tuple[str, bool]:
    if rule.allow_revisit is None:
        return line.policy.revisit, True
    return ("allow" if rule.allow_revisit else "forbid"), False


# Gates


def gate_signature_or_none(line: ParsedLine, gate: Gate) -> Key | None:
    """Return all of a gate that a decision reads; None for one that never stops anything."""
    by_tool = gate.tool_actions
    if gate.mode == "skip" or not (
        gate.has_people or by_tool or (gate.enforces_checks and _may_checks_stop(gate))
    ):
        return None
    checks = (
        _check_group_signature(gate.checks)
        if gate.checks and gate.enforces_checks and _may_checks_stop(gate)
        else None
    )
    asks = gate.has_people or _may_checks_stop(gate) or "hold" in by_tool
    tool = canonical_json(TOOL.write(gate.tool)) if gate.tool and by_tool else None
    words = (gate.on_reject or line.policy.on_reject, gate.approval.max_rounds) if asks else ()
    sample = canonical_json(SAMPLE.write(gate.sample)) if gate.sample and gate.has_people else None
    return (gate.key, gate.has_people, checks, words, tool, sample)


def _may_checks_stop(gate: Gate) -> bool:
    return gate.checks is not None and any(
        RANK.get(check.action) and check.severity != "warn" for check in gate.checks.checks()
    )


def _check_group_signature(group: CheckGroup) -> Key:
    return (group.kind, *map(_member_signature, group.counting_members))


def _member_signature(member: Check | CheckGroup) -> Key:
    if isinstance(member, CheckGroup):
        return _check_group_signature(member)
    # law §6: `exists` ignores the value.
    value = b"" if member.operator == "exists" else canonical_json(member.value)
    return (ALIASES.get(member.field, member.field), member.operator, value, RANK.get(member.action, 0))


def reviewer_may_demand_rework(gate: Gate) -> bool:
    """Return whether a person may demand the forced failure route at the gate."""
    may_hold = (gate.enforces_checks and _may_checks_stop(gate)) or "hold" in gate.tool_actions
    asks = gate.has_people or may_hold
    return "rework" in gate.offers and gate.mode != "skip" and asks


def may_demand_rework(gate: Gate) -> bool:
    """Return whether a person or a check of the gate can demand rework."""
    by_check = gate.enforces_checks and any(
        check.action == "rework" and check.severity != "warn"
        for check in (gate.checks.checks() if gate.checks else ())
    )
    return by_check or "rework" in gate.tool_actions or reviewer_may_demand_rework(gate)


# Where no rule matched (law §4)


def sole_rework_gate_or_empty(line: ParsedLine, rule: Rule) -> str:
    """Return the key of the only gate of the rule, if that gate alone can demand rework and only a person can
    do so there; else ""."""
    gates = [gate for key in rule.gates if gate_signature_or_none(line, gate := line.gate(key))]
    if len(gates) != 1 or not reviewer_may_demand_rework(gates[0]):
        return ""
    return "" if gates[0].enforces_checks else gates[0].key


def stuck_on_faulty_rule_effect() -> RoutingEffect:
    """Return the effect of a faulty rule that is reached: the task is stuck (law §5, step 6)."""
    return RoutingEffect(frozenset([("stuck",)]), error="InvalidTransitionSyntax")


def policy_effect_if_no_rule_matches(line: ParsedLine, station: Station, outcome_state: str) -> RoutingEffect:
    """Return the effect of the policy on an outcome that no rule takes. `outcome_state`: passed, failed or
    blocked."""
    # law §4: a blocked outcome goes to @blocked, whatever the options say.
    if outcome_state == "blocked":
        return RoutingEffect(frozenset([(BLOCKED,)]))
    if outcome_state == "failed":
        return _on_failure_effect(line)
    return _no_match_effect(line, station) if station.rules else _no_rules_effect(line, station)


def _on_failure_effect(line: ParsedLine) -> RoutingEffect:
    knob = line.policy.on_failure
    if knob == "halt":
        # law §4: `halt` carries no error.
        return RoutingEffect(frozenset([("failed", "failed")]))
    if knob == "stuck":
        return RoutingEffect(frozenset([("stuck",)]), error=NO_MATCH)
    if knob in ("escalate", "fallback"):
        return RoutingEffect(frozenset([(knob, "on_failure")]))
    return RoutingEffect(frozenset([target_signature(line, knob.removeprefix("station:"))]))


def _no_match_effect(line: ParsedLine, station: Station) -> RoutingEffect:
    knob = line.policy.no_match
    if knob == "default":
        return RoutingEffect(frozenset([_next_target_signature(line, station)]))
    if knob == "fail":
        return RoutingEffect(frozenset([("failed", "failed")]), error=NO_MATCH)
    if knob == "stuck":
        return RoutingEffect(frozenset([("stuck",)]), error=NO_MATCH)
    return RoutingEffect(frozenset([(knob, "no_match")]))


def _no_rules_effect(line: ParsedLine, station: Station) -> RoutingEffect:
    knob = line.policy.no_rules
    if knob == "refuse":
        return RoutingEffect(frozenset([("stuck",)]), error=NO_MATCH)
    return RoutingEffect(
        frozenset(
            [
                _next_target_signature(line, station)
                if knob == "advance"
                else target_signature(line, "completed")
            ]
        )
    )


def _next_target_signature(line: ParsedLine, station: Station) -> Key:
    after = line.next_station_or_none(station.key)
    return target_signature(line, after.key if after else "completed")
