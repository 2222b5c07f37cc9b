"""A gate says what people fill in, which tasks it asks about or how they approve, and nobody is ever asked there."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.checks import RANK
from pipelines.routing.document.gates import Gate

ID = "unused-gate-key"
CAUSE = "Gate setting without effect"


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, gate in enumerate(subject.line.gates):
        messages = {
            "fields": _("Nobody fills in the fields of %(gate)s: it asks no person", gate=gate.name),
            "sample": _("Nothing is sampled at %(gate)s: it asks no person", gate=gate.name),
            "channels": _("Nobody approves at %(gate)s: it asks no person", gate=gate.name),
        }
        for key, message in messages.items():
            unused = not gate.has_people if key == "sample" else not _may_ask_approval(gate)
            if getattr(gate, key) and unused:
                hint = _("let a person approve there, or remove %(key)s", key=key)
                yield Finding(
                    check=ID, severity=WARNING, path=f"gates[{index}].{key}", message=message, hint=hint
                )


def _may_ask_approval(gate: Gate) -> bool:
    """Return whether a person may be asked to approve: always, of a sample, or where a check or a tool says
    hold."""
    checks = gate.checks.checks() if gate.checks is not None and gate.enforces_checks else ()
    # Rank 1 is the action hold, which asks a person even in mode auto (law §6).
    holds = "hold" in gate.tool_actions or any(RANK.get(gate_check.action) == 1 for gate_check in checks)
    return "approve" in gate.offers and (gate.has_people or holds)
