"""Budgets of rules, stations and the line, checked against a move: N are allowed, the N + 1st is refused (law §8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.routing.decide.budget_usage import MoveTarget, consumes_budget, used_amount
from pipelines.routing.decide.steps.routing_context import (
    RoutingContext,
    TransitionCandidate,
    target_stations,
)
from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.rules import Rule

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


def breaches(case: RoutingContext, way: TransitionCandidate) -> list[Breach]:
    """Every budget that this move would exceed: the rule's, the stations' and the line's, in this order."""
    exceeded = [*_of_rule(case, way), *_of_stations(case, way)]
    return [*exceeded, *_of_line(case, way)] if case.line.named_limits else exceeded


def _of_rule(case: RoutingContext, way: TransitionCandidate) -> list[Breach]:
    """The rule's own budgets, with what each of them leads to."""
    rule = way.rule
    limit = case.line.policy.self_loop_limit
    # A move that only names the rule takes nothing of its budgets (law §5, Counting).
    if rule is None or not way.takes or (rule.max_retries, rule.max_visits, limit) == (None, None, None):
        return []
    how = "target" if rule.exhausted_to else rule.on_exhausted or case.line.policy.on_exhausted
    retries = case.of_now.facts.rules.get(rule.id, 0)
    whys = []
    if rule.max_retries is not None and retries >= rule.max_retries:
        whys.append(f"rule {rule.id} was taken {retries} of {rule.max_retries} times")
    if rule.max_visits is not None:
        entered = [(station, case.of_now.visits_of(station)) for station in target_stations(case, way)]
        most = rule.max_visits
        # `n` entries so far: this one would be the n + 1st.
        whys += [f"{station} was entered {n} of {most} times" for station, n in entered if n >= most]
    if limit is not None and retries >= limit and _is_free_loop(case, way, rule):
        whys.append(f"rule {rule.id}, a loop, was taken {retries} of {limit} times")
    return [Breach(how, why, rule.exhausted_to) for why in whys]


def _is_free_loop(case: RoutingContext, way: TransitionCandidate, rule: Rule) -> bool:
    """Leads to its own station, and has neither `max_retries` nor `max_visits`."""
    free = rule.max_retries is None and rule.max_visits is None
    return free and case.station.key in target_stations(case, way)


def _of_stations(case: RoutingContext, way: TransitionCandidate) -> list[Breach]:
    exceeded = []
    for station in target_stations(case, way):
        most = case.line.station(station).limits.max_visits
        if most is not None and (visits := case.of_now.visits_of(station)) >= most:
            why = f"{station} was entered {visits} of {most} times"
            exceeded.append(Breach(case.line.policy.on_exhausted, why))
    return exceeded


def _of_line(case: RoutingContext, way: TransitionCandidate) -> Iterator[Breach]:
    """The named budgets of the line. They bind every decided move, whatever decided it."""
    for budget in case.line.named_limits:
        # What is used up on the way here does not bind the target that it names.
        if budget.key not in way.over:
            why = _breach_reason(case, way, budget)
            if why:
                how = "target" if budget.exhausted_to else budget.on_exhausted
                how = how or case.line.policy.on_exhausted
                yield Breach(how, why, budget.exhausted_to, budget.key, budget.role)


def _breach_reason(case: RoutingContext, way: TransitionCandidate, budget: Budget) -> str:
    """Return the reason that the move exceeds the budget, or an empty text. Every branch of a fork counts;
    the rule counts once."""
    assert budget.most is not None
    # A rule that only led here was not taken, so no budget of rules is spent.
    rule_id = way.rule_id if way.takes else None
    steps = [
        MoveTarget(case.station.key, target, rule_id, case.situation.outcome.failure_type)
        for target in way.targets
    ]
    spending = [step for step in steps if consumes_budget(case.line, budget, step)]
    if not spending:
        return ""
    visits = {station: case.of_now.visits_of(station) for station in budget.stations}
    before = used_amount(case.line, budget, spending[0], case.of_now.facts, visits)
    # A rule and a failure are counted once, whatever it forks into; entries and edges each.
    more = 1 if budget.kind in ("rules", "failure_type") else len(spending)
    if before + more <= budget.most:
        return ""
    return f"budget {budget.key} ({budget.kind}): {before} of {budget.most} are spent"
