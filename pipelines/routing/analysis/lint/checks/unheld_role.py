"""A role to which something is escalated and that nobody in the project holds: administrators answer instead."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.triggers import does_budget_escalate, never_triggered_reason
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.budgets import STAGE_OWNER
from pipelines.routing.document.escalations import PRESETS
from pipelines.routing.document.model import ParsedLine

ID = "unheld-role"
CAUSE = "Role that nobody holds"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Once for each role, at the first place that names it. A warning, since people come and go without a new version;
    of what only the preset names, a note."""
    people = subject.people
    if people is None:
        return
    path_by_role: dict[str, str] = {}
    for path, role in _paths_and_roles_of_escalations(subject.line):
        path_by_role.setdefault(role, path)
    for role, path in path_by_role.items():
        if not people.has_holder_of_role(role):
            by_preset = path == "preset"
            yield Finding(
                check=ID,
                severity=INFO if by_preset else WARNING,
                path=path,
                message=_(
                    "Nobody holds the role %(role)s: administrators of the project answer for it", role=role
                ),
                hint="make a group of this name in the settings of the project, or name another role",
            )


def _paths_and_roles_of_escalations(line: ParsedLine) -> Iterator[tuple[str, str]]:
    """Yield each role with its place, as far as something may be escalated to it."""
    for index, rule in enumerate(line.escalations):
        if not never_triggered_reason(line, rule.trigger):
            yield f"escalations[{index}].role", rule.role
            notifying_actions = {"notify", "convene_review"} & {*rule.on_breach, *rule.at_once}
            yield from (
                (f"escalations[{index}].notify[{n}]", role)
                for n, role in enumerate(rule.notify)
                if notifying_actions
            )
    declared = {budget.key: index for index, budget in enumerate(line.budgets)}
    for budget in line.named_budgets_in_force:
        if budget.role and budget.role != STAGE_OWNER and does_budget_escalate(line, budget):
            place = declared.get(budget.key)
            yield "preset" if place is None else f"budgets[{place}].role", budget.role
    own = {rule.trigger for rule in line.escalations}
    for rule in PRESETS.get(line.preset, ()):
        if rule.trigger not in own and not never_triggered_reason(line, rule.trigger):
            yield from (("preset", role) for role in (rule.role, *rule.notify))
