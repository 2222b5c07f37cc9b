"""Somebody is named for an escalation that nothing in the line brings about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.triggers import does_budget_escalate, never_triggered_reason
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.escalations import OF_THE_ENGINE
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named

ID = "unused-escalation"
CAUSE = "Escalation that never happens"
ESCALATE_IT = Wording.of(
    "say on_exhausted: escalate, or name no role", "escalate when the limit is used up, or name nobody"
)


def check(subject: LintSubject) -> Iterator[Finding]:
    line = subject.line
    for index, rule in enumerate(line.escalations):
        meant = _misspelt_engine_trigger(rule.trigger)
        why = never_triggered_reason(line, rule.trigger)
        if meant:
            message = _("Nothing escalates with the word %(trigger)s", trigger=rule.trigger)
            yield _new_finding(
                f"escalations[{index}].trigger", message, _("write it as %(meant)s", meant=meant)
            )
        elif why:
            message = _(
                "The line never escalates with %(trigger)s: %(why)s",
                trigger=named.trigger_part_name(rule.trigger),
                why=why,
            )
            hint = "remove the rule, or change that; a person may still escalate so by hand"
            yield _new_finding(f"escalations[{index}].trigger", message, hint)
    yield from _budget_findings(line)


def _budget_findings(line: ParsedLine) -> Iterator[Finding]:
    for index, budget in enumerate(line.budgets):
        if budget.role and budget.most is not None and not does_budget_escalate(line, budget):
            how = budget.exhausted_to or budget.on_exhausted or line.policy.on_exhausted
            people = _(
                "Nobody tells %(role)s that the limit “%(limit)s” is used up: it leads to %(how)s",
                role=named.role_part_name(budget.role),
                limit=budget.label or budget.key,
                how=named.target_part_name(line, how)
                if budget.exhausted_to
                else named.policy_option_text(line, how),
            )
            machine = f"Nobody tells {budget.role} that the budget {budget.key} is spent: it leads to {how}"
            message = Wording.of(machine, people)
            yield _new_finding(f"budgets[{index}].role", message, ESCALATE_IT)


def _new_finding(path: str, message: str, hint: str) -> Finding:
    return Finding(check=ID, severity=WARNING, path=path, message=message, hint=hint)


def _misspelt_engine_trigger(trigger: str) -> str:
    """The word of the engine that this one is but for its spelling; "" where it is one, or something else."""
    plain = _letters_only(trigger)
    return next(
        (
            engine_trigger
            for engine_trigger in OF_THE_ENGINE
            if _letters_only(engine_trigger) == plain and engine_trigger != trigger
        ),
        "",
    )


def _letters_only(word: str) -> str:
    # Letters alone, so that “retry-limit exceeded” is known for RetryLimitExceeded.
    return re.sub(r"[^a-z]", "", word.lower())
