"""Outcomes that no rule of a station takes, and what the policy does with them."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, WARNING, Finding
from pipelines.routing.analysis.lint.policy_outcome import (
    OUTCOMES,
    is_stuck_escalated_or_failed,
    policy_outcome_text,
)
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.liveness import Remainder
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import (
    Condition,
    EvalTest,
    ResultTest,
    VerdictTest,
    condition_leaf_tests,
)
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences import part_names as named

ID = "no-rule-takes"
CAUSE = "Outcome that no rule takes"


def check(subject: LintSubject) -> Iterator[Finding]:
    """A station without rules leaves everything to the policy: that is no gap. Nor is a blocked outcome that waits
    for an answer, as the law has it, where no rule speaks of blocked ones."""
    for station in subject.line.stations:
        for outcome_state in STANDINGS if station.rules else ():
            rest = subject.analysis(station).outcomes_no_rule_takes(outcome_state)
            if rest is not None and is_untaken_worth_finding(station, outcome_state):
                yield _finding(subject, station, rest)


def is_untaken_worth_finding(station: Station, outcome_state: str) -> bool:
    """Return whether outcomes of this standing (`outcome_state`) that no rule takes are worth a finding."""
    return bool(station.rules) and (outcome_state != "blocked" or _do_rules_name_blocked(station))


def _do_rules_name_blocked(station: Station) -> bool:
    return any(
        _does_test_name_blocked(leaf)
        for rule in station.rules
        if rule.fault is None
        for leaf in condition_leaf_tests(rule.when)
    )


def _does_test_name_blocked(condition: Condition) -> bool:
    if isinstance(condition, ResultTest):
        return "blocked" in condition.results
    if isinstance(condition, VerdictTest):
        return "blocked" in condition.verdicts
    return isinstance(condition, EvalTest) and condition.value == "blocked"


def _finding(subject: LintSubject, station: Station, remainder: Remainder) -> Finding:
    decision = remainder.witness.decision if remainder.witness else None
    short: str = ""
    why: str = ""
    words = {
        "station": named.station_part_name(subject.line, station.key),
        "what": OUTCOMES[remainder.standing],
    }
    if decision is None:
        message = _(
            "Unknown whether a rule of %(station)s takes all outcomes %(what)s: %(why)s",
            **words,
            why=remainder.why,
        )
    else:
        after = policy_outcome_text(subject.line, decision)
        message = _("No rule of %(station)s takes some outcomes %(what)s: %(then)s", **words, then=after)
        short, why = _("no rule of %(station)s takes some outcomes %(what)s", **words), after
    return Finding(
        check=ID,
        severity=WARNING
        if decision and remainder.standing == "passed" and is_stuck_escalated_or_failed(decision)
        else INFO,
        path=f"{subject.path_of_station_or_rule(station)}.rules",
        message=message,
        hint="" if decision is None else "add a rule that always matches at the end to decide it here",
        station=station.key,
        witness=remainder.witness,
        short=short,
        why=why,
    )
