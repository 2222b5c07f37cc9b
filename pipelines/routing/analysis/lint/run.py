"""The door to lint: all checks, in one visible order (law §10, house §1)."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from pipelines.routing.analysis.lint.checks import (
    base_not_taken_in,
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
    silent_jumps,
    unanswered_escalation,
    unapproved_delivery,
    unawaited_checks,
    unbounded_cycle,
    undecided,
    unfillable_join,
    unheld_role,
    unjoined_fork,
    unknown_branch,
    unknown_reference,
    unknown_station,
    unknown_variable,
    unproved_guarantee,
    unreachable_station,
    unsatisfiable_gate,
    unused_escalation,
    unused_gate_key,
)
from pipelines.routing.analysis.lint.finding import SEVERITIES, WARNING, Finding
from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.subject import LintSubject, RequiredChecks
from pipelines.routing.basics.plugins import PluginFault, load_plugins_or_faults, wrap_call_with_plugin_fault
from pipelines.routing.document.model import ParsedLine


class LintCheck(Protocol):
    """A file of `checks`. `CAUSE`: what its findings have in common, as the heading over them."""

    ID: str
    CAUSE: str

    def check(self, subject: LintSubject) -> Iterator[Finding]: ...


CHECKS: tuple[LintCheck, ...] = (
    not_publishable,
    unknown_reference,
    unknown_station,
    unknown_branch,
    unknown_variable,
    constant_condition,
    dead_rule,
    no_way_to_an_end,
    unsatisfiable_gate,
    forbidden_parallel,
    unfillable_join,
    unjoined_fork,
    rework_below,
    default_not_last,
    shadowed_gate,
    unreachable_station,
    unbounded_cycle,
    cost_of_a_task,
    no_rule_takes,
    shadowed_rule,
    unused_escalation,
    unused_gate_key,
    unanswered_escalation,
    unapproved_delivery,
    unheld_role,
    unawaited_checks,
    base_not_taken_in,
    undecided,
    broken_guarantee,
    unproved_guarantee,
    silent_jumps,
)
CAUSES: Mapping[str, str] = {check_module.ID: check_module.CAUSE for check_module in CHECKS}
GROUP = "gateline.lint"
"""Entry points of installed packages: each has `check(subject)`, as a file of `checks` has."""
INSTALLED = "installed:"


def lint_line(
    line: ParsedLine, people: People | None = None, required: RequiredChecks | None = None
) -> tuple[Finding, ...]:
    """Return all findings, errors first, then in the order of the checks and of the document.

    `people`: who there is to decide at gates; without them nothing is said of whether they suffice.
    `required`: what hosts require, as far as that is known.
    """
    return run_all_checks(LintSubject(line, people, required))


def run_all_checks(subject: LintSubject) -> tuple[Finding, ...]:
    with _pausing_garbage_collection():
        findings = [finding for check_module in CHECKS for finding in check_module.check(subject)]
        findings += [
            finding
            for name, check in load_plugins_or_faults(GROUP)
            for finding in _plugin_findings(name, check, subject)
        ]
    # The sort is stable: within one severity the order of CHECKS and of the document stays.
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def _plugin_findings(name: str, check: Any, subject: LintSubject) -> list[Finding]:
    """Return the findings of a check of an installed package, or one finding that the check failed. It cannot
    remove findings of other checks."""

    def all_findings_of_check() -> list[Finding]:
        made = [replace(finding, check=f"{INSTALLED}{name}") for finding in check.check(subject)]
        # `index` raises for a severity that is none, which counts as a fault of the package.
        return [finding for finding in made if SEVERITIES.index(finding.severity) >= 0]

    try:
        # A package that could not be loaded stands as its fault in the list.
        if isinstance(check, PluginFault):
            raise check
        return wrap_call_with_plugin_fault(name, all_findings_of_check)()
    except PluginFault as fault:
        return [Finding(f"{INSTALLED}{name}", WARNING, "", fault.message)]


def cause_label_of_check(check: str) -> str:
    return CAUSES.get(check) or "Checks of installed packages"


@contextmanager
def _pausing_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector: an analysis makes millions of values and no cycles. If several run at once,
    the one that paused it resumes it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
