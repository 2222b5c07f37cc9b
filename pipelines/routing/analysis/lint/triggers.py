"""Triggers with which a line can escalate by itself: what no policy, budget or gate of it says cannot happen."""

from __future__ import annotations

from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.sentences import part_names as named

NO_LIMIT = Wording.of(
    "no limit or budget of it escalates when it is spent", "no limit of it escalates when it is used up"
)


def never_triggered_reason(line: ParsedLine, trigger: str) -> str:
    """Return why nothing in the line escalates with this trigger; "" where something may, or where it is a
    word of its own."""
    policy = line.policy
    match trigger:
        case "no_match":
            return "" if policy.no_match == "escalate" else _no_match_reason(line)
        case "on_failure":
            return "" if policy.on_failure == "escalate" else _on_failure_reason(line)
        case "compose_failed":
            return _compose_reason(line)
        case "RetryLimitExceeded":
            return "" if _do_any_limits_escalate(line) else NO_LIMIT
        case "contradiction":
            return _contradiction_reason(line)
        case "gate_overdue":
            late = any(gate.due is not None and gate.due.then == "escalate" for gate in line.gates)
            return "" if late else "no gate of it has a time after which it escalates"
    return ""


def _no_match_reason(line: ParsedLine) -> str:
    option = line.policy.no_match
    people = _(
        "where no rule matches a passed outcome: %(then)s", then=named.policy_option_text(line, option)
    )
    return Wording.of(f"no_match is {option}", people)


def _on_failure_reason(line: ParsedLine) -> str:
    option = line.policy.on_failure
    people = _("where no rule matches a failure: %(then)s", then=named.policy_option_text(line, option))
    return Wording.of(f"on_failure is {option}", people)


def _compose_reason(line: ParsedLine) -> str:
    if not any(rule.compose for station in line.stations for rule in station.rules):
        return "no rule of it sets variables"
    # A compose that fails is routed by `on_failure` (law §5, step 7).
    return "" if line.policy.on_failure == "escalate" else _on_failure_reason(line)


def _contradiction_reason(line: ParsedLine) -> str:
    # Only two branches that a join merges can contradict each other (law §7).
    if not any(station.join and len(station.join.wait_for) > 1 for station in line.stations):
        return "no station of it joins branches"
    knob = line.policy.contradiction
    return "" if knob == "escalate" else _("contradiction is %(option)s", option=knob)


def _do_any_limits_escalate(line: ParsedLine) -> bool:
    rules = (rule for station in line.stations for rule in station.rules)
    return (
        any(does_budget_escalate(line, budget) for budget in line.named_budgets_in_force)
        or any(does_rule_escalate(line, rule) for rule in rules)
        or (line.policy.on_exhausted == "escalate" and _has_limits_of_stations(line))
    )


def does_budget_escalate(line: ParsedLine, budget: Budget) -> bool:
    """Return whether the budget escalates when it is spent."""
    return not budget.exhausted_to and (budget.on_exhausted or line.policy.on_exhausted) == "escalate"


def does_rule_escalate(line: ParsedLine, rule: Rule) -> bool:
    """A loop without limits of its own has that of the policy."""
    limits = (rule.max_retries, rule.max_visits, line.policy.self_loop_limit)
    if all(limit is None for limit in limits):
        return False
    return not rule.exhausted_to and (rule.on_exhausted or line.policy.on_exhausted) == "escalate"


def _has_limits_of_stations(line: ParsedLine) -> bool:
    return any(station.limits.max_visits is not None for station in line.stations)
