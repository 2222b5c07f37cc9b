"""A gate that nobody and nothing can pass, as far as the document alone tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipelines.routing.fields import ALIASES, FAMILIES, SINGLE, USAGE
from pipelines.routing.lint.finding import ERROR, Finding
from pipelines.routing.lint.subject import Subject
from pipelines.routing.model import Gate

ID = "unsatisfiable-gate"


def check(subject: Subject) -> Iterator[Finding]:
    for index, gate in enumerate(subject.line.gates):
        for key, message, hint in _faults(gate):
            yield Finding(
                check=ID,
                severity=ERROR,
                path=f"gates[{index}]{key}",
                message=f"Gate {gate.key}: {message}",
                hint=hint,
            )


def _faults(gate: Gate) -> Iterator[tuple[str, str, str]]:
    if gate.always_asks and "approve" not in gate.offers:
        yield ".offers", "a person is always asked, but cannot approve", "offer approve"
    asked = Counter(need.name for need in gate.approval.who if need.kind == "user")
    for user, times in asked.items():
        if times > 1 and gate.always_asks:
            message = f"{user} is wanted {times} times, and one person fills one place"
            yield ".approval.who", message, "name each person once"
    for field in _unknown_fields(gate):
        yield ".checks", f"no field {field} exists, so its check always fails", "correct the field"


def _unknown_fields(gate: Gate) -> Iterator[str]:
    for each in gate.checks.checks() if gate.checks and gate.enforces_checks else ():
        name = ALIASES.get(each.field, each.field)
        family, _, rest = name.partition(".")
        known = name in SINGLE or name in USAGE or (rest and family in FAMILIES)
        if not known and each.severity != "warn":
            yield each.field
