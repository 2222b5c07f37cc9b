"""Badges that the canvas draws on a line besides its rules and gates, with their words: limits and budgets,
escalations, requirements for going forward. Small signs; whoever looks closer reads the words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.line import ParsedLine, Rule, Station
from pipelines.routing.document.policy import Policy
from pipelines.routing.sentences.escalations import escalation_answer_terms, role_words, trigger_words
from pipelines.routing.sentences.fields import requirement_words
from pipelines.routing.sentences.names import target_name

RETRY_LIMIT = "RetryLimitExceeded"
KNOBS = {"passed": ("no_match", "no_match"), "failed": ("on_failure", "on_failure")}
"""Of outcomes that no rule takes: the policy, and the word with which it escalates."""


def line_badges(subject: LintSubject) -> dict[str, Any]:
    """`stations`: of each that has any, lists of sentences `limits`, `escalates`, `needs`. `rules`: by id the least
    number of takings that binds, and the sentences. `line`: what binds wherever a task is."""
    line = subject.line
    stations = {station.key: _station_badges(subject, station) for station in line.stations}
    return {
        "stations": {key: signs for key, signs in stations.items() if signs},
        "rules": rule_limits(line),
        "line": list(_line_limit_sentences(line)),
    }


def rule_limits(line: ParsedLine) -> dict[str, dict[str, Any]]:
    """Return how often each rule that has a limit may be taken, and in which words, by rule id."""
    rules = {rule.id: _rule_limit(line, station, rule) for station in line.stations for rule in station.rules}
    return {key: signs for key, signs in rules.items() if signs}


def _station_badges(subject: LintSubject, station: Station) -> dict[str, list[str]]:
    line = subject.line
    badges = {
        "limits": [*_limit_sentences(line, station), *_exclusion_sentences(line, station)],
        "escalates": list(_escalation_sentences(subject, station)),
        "needs": list(_precondition_sentences(line, station)),
    }
    return {kind: words for kind, words in badges.items() if words}


# Limits


def _limit_sentences(line: ParsedLine, station: Station) -> Iterator[str]:
    most = station.limits.max_visits
    if most is not None:
        words = singular_or_plural(
            "Entered at most %(n)s time; %(then)s.", "Entered at most %(n)s times; %(then)s.", most
        )
        yield words % {"n": most, "then": _exhausted_text(line, line.policy.on_exhausted, None)}
    yield from (
        _budget_sentence(line, budget)
        for budget in line.named_budgets_in_force
        if station.key in budget.stations
    )


def _exclusion_sentences(line: ParsedLine, station: Station) -> Iterator[str]:
    for pair in line.forbidden_parallel:
        if station.key in pair:
            other = pair[1] if pair[0] == station.key else pair[0]
            yield f"Never runs beside {target_name(line, other)}."


def _rule_limit(line: ParsedLine, station: Station, rule: Rule) -> dict[str, Any]:
    # As budgets name an edge: `build->test`
    ways = {f"{station.key}->{to}" for to in rule.to}
    budgets = [
        budget
        for budget in line.named_budgets_in_force
        if rule.id in budget.rules or ways & set(budget.edges)
    ]
    numbers = [n for n in (rule.max_retries, rule.max_visits) if n is not None]
    most = [*numbers, *(budget.most for budget in budgets if budget.most is not None)]
    if not most:
        return {}
    return {
        "most": min(most),
        "words": [*_own_limit_sentences(line, rule), *(_budget_sentence(line, budget) for budget in budgets)],
    }


def _own_limit_sentences(line: ParsedLine, rule: Rule) -> Iterator[str]:
    then = _exhausted_text(line, rule.on_exhausted or line.policy.on_exhausted, rule.exhausted_to)
    if rule.max_retries is not None:
        words = singular_or_plural(
            "Taken at most %(n)s time; %(then)s.", "Taken at most %(n)s times; %(then)s.", rule.max_retries
        )
        yield words % {"n": rule.max_retries, "then": then}
    if rule.max_visits is not None:
        names = ", ".join(target_name(line, key) for key in rule.to)
        words = singular_or_plural(
            "Lets %(targets)s be entered at most %(n)s time; %(then)s.",
            "Lets %(targets)s be entered at most %(n)s times; %(then)s.",
            rule.max_visits,
        )
        yield words % {"targets": names, "n": rule.max_visits, "then": then}


def _line_limit_sentences(line: ParsedLine) -> Iterator[str]:
    """Budgets that name no place. Those of types of failure are many, and told together."""
    wide = [
        budget
        for budget in line.named_budgets_in_force
        if not (budget.stations or budget.rules or budget.edges)
    ]
    yield from (_budget_sentence(line, budget) for budget in wide if budget.kind != "failure_type")
    types = sum(budget.kind == "failure_type" for budget in wide)
    if types:
        words = singular_or_plural(
            "%(n)s type of failure has a limit.", "%(n)s types of failure have a limit each.", types
        )
        yield words % {"n": types}


def _budget_sentence(line: ParsedLine, budget: Budget) -> str:
    then = _exhausted_text(
        line, budget.on_exhausted or line.policy.on_exhausted, budget.exhausted_to, budget.role
    )
    words = singular_or_plural(
        "Limit “%(name)s”: at most %(n)s time; %(then)s.",
        "Limit “%(name)s”: at most %(n)s times; %(then)s.",
        budget.most or 0,
    )
    return words % {"name": budget.name, "n": budget.most, "then": then}


def _exhausted_text(line: ParsedLine, how: str, to: str | None, role: str | None = None) -> str:
    if to:
        return f"after that it goes to {target_name(line, to)}"
    if how == "escalate":
        role_text = role_words(role or line.escalation_rule(RETRY_LIMIT).role)
        return f"after that it is escalated to {role_text}"
    if how == "stuck":
        return "after that the task is stuck"
    return "after that the task fails"


# Escalations and preconditions


def _escalation_sentences(subject: LintSubject, station: Station) -> Iterator[str]:
    """Yield the escalations of outcomes that no rule takes, where there may be some, and of a review that is
    late."""
    line = subject.line
    for outcome_state, (knob, trigger) in KNOBS.items():
        if (station.key, outcome_state) in subject.unmatched_outcomes and _is_escalated(
            line.policy, knob, station
        ):
            yield _escalation_sentence(line, trigger)
    keys = {station.gate, *(key for rule in station.rules if rule.fault is None for key in rule.gates)}
    gates = (gate for gate in line.gates if gate.key in keys and gate.due is not None)
    if any(gate.due and gate.due.then == "escalate" for gate in gates):
        yield _escalation_sentence(line, "gate_overdue")


def _is_escalated(policy: Policy, knob: str, station: Station) -> bool:
    # At a station without rules `no_rules` decides about what passed (law §4).
    return getattr(policy, knob) == "escalate" and (knob == "on_failure" or bool(station.rules))


def _escalation_sentence(line: ParsedLine, trigger: str) -> str:
    words = {
        "why": trigger_words(trigger),
        "who": escalation_answer_terms(line, trigger, line.escalation_rule(trigger).role),
    }
    return "Escalated if {why}. {who}".format(**words)


def _precondition_sentences(line: ParsedLine, station: Station) -> Iterator[str]:
    names = [requirement_words(name) for name in line.requirements_of(station.key)]
    if names:
        yield f"Going forward needs {', '.join(names)}."
