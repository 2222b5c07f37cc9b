"""The door to lint: all checks, in one visible order (law §10, house §1)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.routing.analysis.lint.checks import (
    broken_guarantee,
    constant_condition,
    cost_of_a_task,
    dead_rule,
    default_not_last,
    forbidden_parallel,
    no_rule_takes,
    no_way_to_an_end,
    not_publishable,
    rework_below,
    shadowed_gate,
    shadowed_rule,
    unanswered_escalation,
    unawaited_checks,
    unbounded_cycle,
    undecided,
    unfillable_join,
    unheld_role,
    unjoined_fork,
    unknown_reference,
    unproved_guarantee,
    unreachable_station,
    unsatisfiable_gate,
    unused_escalation,
    unused_gate_key,
)
from pipelines.routing.analysis.lint.finding import SEVERITIES, Finding
from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.subject import LintSubject, RequiredChecks
from pipelines.routing.analysis.lint.visits import worst_visits
from pipelines.routing.document.model import Line

Check = Callable[[LintSubject], Iterator[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    (not_publishable.ID, not_publishable.check),
    (unknown_reference.ID, unknown_reference.check),
    (constant_condition.ID, constant_condition.check),
    (dead_rule.ID, dead_rule.check),
    (no_way_to_an_end.ID, no_way_to_an_end.check),
    (unsatisfiable_gate.ID, unsatisfiable_gate.check),
    (forbidden_parallel.ID, forbidden_parallel.check),
    (unfillable_join.ID, unfillable_join.check),
    (unjoined_fork.ID, unjoined_fork.check),
    (rework_below.ID, rework_below.check),
    (default_not_last.ID, default_not_last.check),
    (shadowed_gate.ID, shadowed_gate.check),
    (unreachable_station.ID, unreachable_station.check),
    (unbounded_cycle.ID, unbounded_cycle.check),
    (cost_of_a_task.ID, cost_of_a_task.check),
    (no_rule_takes.ID, no_rule_takes.check),
    (shadowed_rule.ID, shadowed_rule.check),
    (unused_escalation.ID, unused_escalation.check),
    (unused_gate_key.ID, unused_gate_key.check),
    (unanswered_escalation.ID, unanswered_escalation.check),
    (unheld_role.ID, unheld_role.check),
    (unawaited_checks.ID, unawaited_checks.check),
    (undecided.ID, undecided.check),
    (broken_guarantee.ID, broken_guarantee.check),
    (unproved_guarantee.ID, unproved_guarantee.check),
)


def lint(
    line: Line, people: People | None = None, required: RequiredChecks | None = None
) -> tuple[Finding, ...]:
    """All findings, errors first, then in the order of the checks and of the document.

    `people`: who there is to decide at gates; without them nothing is said of whether they suffice.
    `required`: what hosts require, as far as that is known.
    """
    return findings_of(LintSubject(line, people, required))


def findings_of(subject: LintSubject) -> tuple[Finding, ...]:
    with _uncollected():
        found = [finding for _, check in CHECKS for finding in check(subject)]
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Within it nothing looks for garbage in circles: an analysis makes millions of values and none. Of several at once
    the one that found the collector at work sets it going again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def visits(line: Line) -> dict[str, int]:
    """How often each station that is reached can be entered at most."""
    return worst_visits(LintSubject(line))
