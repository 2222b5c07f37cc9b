"""Step 7 of law §5: revisit policy, cap, budgets, preconditions; and step 9, entering. The checks run in order, each
for every target of a fork, with current facts. If one fails, the token does not move and no further rule is tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.routing.decide.budget_usage import MoveTarget, consumes_budget, used_amount_before_move
from pipelines.routing.decide.decisions import DecisionAnswer, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.decide.steps.preconditions import wait_with_unmet_preconditions_or_none
from pipelines.routing.decide.steps.routing_context import (
    RoutingContext,
    TransitionCandidate,
    stations_among_targets,
)
from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.rules import BLOCKED, Rule
from pipelines.routing.document.templates import work_lookups

FORBIDDEN = "ForbiddenParallel"
HOWS = ("fail", "stuck", "escalate", "target")

__all__ = [
    "TransitionCandidate",
    "decision_preventing_move_or_none",
    "decision_to_enter_targets",
    "decision_to_enter_unless_obstructed",
]


def decision_to_enter_unless_obstructed(
    routing: RoutingContext, candidate: TransitionCandidate
) -> DecisionAnswer:
    """Step 7, then 9, for what no rule gate guards."""
    return decision_preventing_move_or_none(routing, candidate) or decision_to_enter_targets(
        routing, candidate
    )


def decision_preventing_move_or_none(
    routing: RoutingContext, candidate: TransitionCandidate
) -> DecisionAnswer | None:
    """Return what prevents the move, if anything. The target of an exhausted budget is a decision too."""
    return (
        # Law §5, step 7, in its order; the revisit policy binds moves by a taken rule only.
        (_revisit_obstacle_or_none(routing, candidate) if candidate.takes else None)
        or _cap_obstacle_or_none(routing, candidate)
        or _parallel_obstacle_or_none(routing, candidate)
        or _worst_budget_decision_or_none(routing, candidate)
        or wait_with_unmet_preconditions_or_none(routing, candidate)
        or unreadable_obstacle_or_none(routing, candidate)
    )


def decision_to_enter_targets(routing: RoutingContext, candidate: TransitionCandidate) -> DecisionAnswer:
    routing.add_trace_entry(
        "effects", candidate.rule, True, f"goes to {candidate.target_text} (by {candidate.by})"
    )
    target = candidate.targets[0]
    if target == BLOCKED:
        return Wait("blocked", rule=candidate.rule_id)
    if target in routing.line.ends_by_key:
        return Finish(target, routing.line.end(target).kind, candidate.rule_id, candidate.by)
    return Move(candidate.targets, candidate.rule_id, candidate.by, candidate.feedback, candidate.variables)


def _revisit_obstacle_or_none(
    routing: RoutingContext, candidate: TransitionCandidate
) -> DecisionAnswer | None:
    """The revisit policy: it binds moves by a rule only, and the rule's `allow_revisit` overrides it."""
    for station in stations_among_targets(routing, candidate):
        if _is_forbidden_revisit(routing, candidate, station):
            return _stuck_with_note(
                routing,
                candidate,
                "CircularWorkflow",
                f"This task has been at {station} before, and may not return.",
            )
    return None


def _is_forbidden_revisit(routing: RoutingContext, candidate: TransitionCandidate, station: str) -> bool:
    policy = routing.line.policy
    allowed = candidate.rule.allow_revisit if candidate.rule else None
    if allowed is True:
        return False
    if allowed is False or policy.forbids_revisits:
        return routing.of_now.has_visited(station)
    limit = policy.revisit_limit
    # `limit:<n>` counts re-entries: the first entry is none (law §4).
    return limit is not None and routing.of_now.visit_count(station) > limit


def _cap_obstacle_or_none(routing: RoutingContext, candidate: TransitionCandidate) -> DecisionAnswer | None:
    cap = routing.line.policy.visit_cap
    for station in stations_among_targets(routing, candidate):
        visits = routing.of_now.visit_count(station)
        if visits >= cap:
            message = f"This task has entered {station} {visits} times; the cap is {cap}."
            return _stuck_with_note(routing, candidate, "VisitLimitExceeded", message)
    return None


def _parallel_obstacle_or_none(
    routing: RoutingContext, candidate: TransitionCandidate
) -> DecisionAnswer | None:
    """Pairs of stations that must never run in parallel (law §7). Waiting at a join is not running there."""
    if not routing.line.forbidden_parallel:
        return None
    entered = [
        target
        for target in stations_among_targets(routing, candidate)
        if not routing.line.does_token_wait_at_join(target, routing.station.key)
    ]
    # A fork enters several at once, and two of those may exclude each other
    for place, station in enumerate(entered):
        for other in (*entered[place + 1 :], *routing.of_now.facts.beside):
            if {station, other} in map(set, routing.line.forbidden_parallel):
                message = f"{station} and {other} must never run in parallel."
                return _stuck_with_note(routing, candidate, FORBIDDEN, message)
    return None


def _stuck_with_note(
    routing: RoutingContext, candidate: TransitionCandidate, error: str, message: str
) -> Stuck:
    routing.add_trace_entry("target", candidate.rule, False, message)
    return Stuck(error, message, candidate.rule_id)


# Budgets


def _worst_budget_decision_or_none(
    routing: RoutingContext, candidate: TransitionCandidate
) -> DecisionAnswer | None:
    """Return the decision on several breaches: fail > stuck > escalate > a target, which a taken rule or a
    named budget names."""
    exceeded = exceeded_budgets(routing, candidate)
    if not exceeded:
        return None
    whys = "; ".join(breach.why for breach in exceeded)
    routing.add_trace_entry("target", candidate.rule, False, f"{RETRY_LIMIT}: {whys}")
    # Law §5, step 7: fail before stuck, stuck before escalate, escalate before a target
    worst = min(exceeded, key=lambda breach: HOWS.index(breach.how))
    if worst.how == "fail":
        return Finish("failed", "failed", candidate.rule_id, "policy", RETRY_LIMIT)
    if worst.how == "stuck":
        return Stuck(RETRY_LIMIT, f"A limit is reached: {whys}.", candidate.rule_id)
    if worst.how == "escalate":
        # Of several that escalate, one that names a role says whom to tell.
        escalating = next((breach for breach in exceeded if breach.how == "escalate" and breach.role), worst)
        return Escalate(RETRY_LIMIT, candidate.rule_id, escalating.budget, escalating.role)
    return _exhausted_target_decision(routing, candidate, worst, exceeded)


def _exhausted_target_decision(
    routing: RoutingContext, candidate: TransitionCandidate, breach: Breach, exceeded: list[Breach]
) -> DecisionAnswer:
    """The target of an exhausted rule or named budget: checked once, without gates or variables. The rule's own
    budgets and the named ones that led here do not bind again; the station's `max_visits` does, as for every entry,
    and so do the other named budgets."""
    assert breach.to is not None
    over = candidate.over | {other.budget for other in exceeded if other.budget}
    by = "policy" if breach.budget else "rule"
    instead = TransitionCandidate((breach.to,), by, candidate.rule, feedback=candidate.feedback, over=over)
    # Entering applies the revisit policy to taken rules only; this target is checked by it, too
    return _revisit_obstacle_or_none(routing, instead) or decision_to_enter_unless_obstructed(
        routing, instead
    )


ERROR = "OutputDataParseError"


def unreadable_obstacle_or_none(routing: RoutingContext, candidate: TransitionCandidate) -> Stuck | None:
    """Unparseable output only matters when a template reads one of the declared output keys."""
    for station in stations_among_targets(routing, candidate) if routing.unreadable_keys else ():
        for family, name in sorted(work_lookups(routing.line.station(station).work)):
            # A flat key, or the object into which a dotted name leads
            key = name if name in routing.unreadable_keys else name.partition(".")[0]
            if key in routing.unreadable_keys and _does_lookup_read_context(routing, candidate, family, key):
                message = f"{station} asks for {key}, but the output that should have said it was not JSON."
                routing.add_trace_entry("target", candidate.rule, "error", message)
                return Stuck(ERROR, message, candidate.rule_id)
    return None


def _does_lookup_read_context(
    routing: RoutingContext, candidate: TransitionCandidate, family: str, key: str
) -> bool:
    """`{{.x}}` tries variables and inputs first."""
    if family:
        return family == "context"
    facts = routing.of_now.facts
    return not any(key in values for values in (facts.variables, candidate.variables, facts.inputs))


# Budgets of rules, stations and the line, checked against a move: N are allowed, the N + 1st is refused (law
# §8).


RETRY_LIMIT = "RetryLimitExceeded"


@dataclass(frozen=True, slots=True)
class Breach:
    """Breach of a budget. `how`: fail, stuck, escalate, or target with its `to`. `budget`: the key of a named
    one."""

    how: str
    why: str
    to: str | None = None
    budget: str | None = None
    role: str | None = None


def exceeded_budgets(routing: RoutingContext, candidate: TransitionCandidate) -> list[Breach]:
    """Every budget that this move would exceed: the rule's, the stations' and the line's, in this order."""
    exceeded = [*_rule_breaches(routing, candidate), *_station_breaches(routing, candidate)]
    return (
        [*exceeded, *_line_breaches(routing, candidate)] if routing.line.named_budgets_in_force else exceeded
    )


def _rule_breaches(routing: RoutingContext, candidate: TransitionCandidate) -> list[Breach]:
    """The rule's own budgets, with what each of them leads to."""
    rule = candidate.rule
    limit = routing.line.policy.self_loop_limit
    # A move that only names the rule takes nothing of its budgets (law §5, Counting).
    if (
        rule is None
        or not candidate.takes
        or (rule.max_retries, rule.max_visits, limit) == (None, None, None)
    ):
        return []
    how = "target" if rule.exhausted_to else rule.on_exhausted or routing.line.policy.on_exhausted
    retries = routing.of_now.facts.rules.get(rule.id, 0)
    whys = []
    if rule.max_retries is not None and retries >= rule.max_retries:
        whys.append(f"rule {rule.id} was taken {retries} of {rule.max_retries} times")
    if rule.max_visits is not None:
        entered = [
            (station, routing.of_now.visit_count(station))
            for station in stations_among_targets(routing, candidate)
        ]
        most = rule.max_visits
        # `n` entries so far: this one would be the n + 1st.
        whys += [f"{station} was entered {n} of {most} times" for station, n in entered if n >= most]
    if limit is not None and retries >= limit and _is_loop_without_own_budget(routing, candidate, rule):
        whys.append(f"rule {rule.id}, a loop, was taken {retries} of {limit} times")
    return [Breach(how, why, rule.exhausted_to) for why in whys]


def _is_loop_without_own_budget(routing: RoutingContext, candidate: TransitionCandidate, rule: Rule) -> bool:
    """Leads to its own station, and has neither `max_retries` nor `max_visits`."""
    free = rule.max_retries is None and rule.max_visits is None
    return free and routing.station.key in stations_among_targets(routing, candidate)


def _station_breaches(routing: RoutingContext, candidate: TransitionCandidate) -> list[Breach]:
    exceeded = []
    for station in stations_among_targets(routing, candidate):
        most = routing.line.station(station).limits.max_visits
        if most is not None and (visits := routing.of_now.visit_count(station)) >= most:
            why = f"{station} was entered {visits} of {most} times"
            exceeded.append(Breach(routing.line.policy.on_exhausted, why))
    return exceeded


def _line_breaches(routing: RoutingContext, candidate: TransitionCandidate) -> Iterator[Breach]:
    """The named budgets of the line. They bind every decided move, whatever decided it."""
    for budget in routing.line.named_budgets_in_force:
        # What is used up on the way here does not bind the target that it names.
        if budget.key not in candidate.over:
            why = _breach_reason(routing, candidate, budget)
            if why:
                how = "target" if budget.exhausted_to else budget.on_exhausted
                how = how or routing.line.policy.on_exhausted
                yield Breach(how, why, budget.exhausted_to, budget.key, budget.role)


def _breach_reason(routing: RoutingContext, candidate: TransitionCandidate, budget: Budget) -> str:
    """Return the reason that the move exceeds the budget, or an empty text. Every branch of a fork counts;
    the rule counts once."""
    assert budget.most is not None
    # A rule that only led here was not taken, so no budget of rules is spent.
    rule_id = candidate.rule_id if candidate.takes else None
    steps = [
        MoveTarget(routing.station.key, target, rule_id, routing.situation.outcome.failure_type)
        for target in candidate.targets
    ]
    spending = [step for step in steps if consumes_budget(routing.line, budget, step)]
    if not spending:
        return ""
    visits = {station: routing.of_now.visit_count(station) for station in budget.stations}
    before = used_amount_before_move(routing.line, budget, spending[0], routing.of_now.facts, visits)
    # A rule and a failure are counted once, whatever it forks into; entries and edges each.
    more = 1 if budget.kind in ("rules", "failure_type") else len(spending)
    if before + more <= budget.most:
        return ""
    return f"budget {budget.key} ({budget.kind}): {before} of {budget.most} are spent"
