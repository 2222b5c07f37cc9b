"""Checks of a gate: groups of `field, operator, value, severity, action, label` (law §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from pipelines.routing.basics.values import MISSING, equal, is_number, number_in
from pipelines.routing.document import operators
from pipelines.routing.document.operand_trace import shown

OPERATORS: dict[str, operators.Operator] = {
    "equals": equal,
    "not_equals": operators.COMMON["not_equals"],
    "less_than": operators.COMMON["lt"],
    "less_than_or_equal": operators.COMMON["lte"],
    "greater_than": operators.COMMON["gt"],
    "greater_than_or_equal": operators.COMMON["gte"],
    "contains": operators.COMMON["contains"],
    "matches": operators.OUTPUT["matches"],
    "in": operators.OUTPUT["in"],
    "exists": lambda value, ignored: True,
}
SEVERITIES = ("warn", "required", "block")
ACTIONS = ("proceed", "hold", "rework", "abort", "notify", "escalate")
RANK = {"abort": 3, "rework": 2, "hold": 1}
"""Actions that route, the worst highest; the others are 0 and route nothing."""
MAX_NESTING = 3

Read = Callable[[str], Any]
"""A field's value: MISSING if it is absent. Raises UnknownField."""


class UnknownField(KeyError):
    """No field of this name exists for checks."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `prepared` is the value as the operator wants it (a compiled pattern)."""

    field: str
    operator: str
    value: Any = None
    severity: str = "required"
    action: str = "hold"
    label: str = ""
    prepared: Any = attribute(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """`kind`: all or any; nested up to three deep."""

    kind: str
    members: tuple[Check | Group, ...]

    def checks(self) -> Iterator[Check]:
        for member in self.members:
            if isinstance(member, Group):
                yield from member.checks()
            else:
                yield member

    @property
    def counted(self) -> tuple[Check | Group, ...]:
        """Without warnings, which are shown and belong to no group, and without the groups of nothing else."""
        return tuple(each for each in self.members if _counts(each))


def _counts(member: Check | Group) -> bool:
    return bool(member.counted) if isinstance(member, Group) else member.severity != "warn"


@dataclass(frozen=True, slots=True)
class Result:
    """How one check went: what it saw, whether it passed, and why it did not where the reason is not the value."""

    check: Check
    passed: bool
    saw: Any
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        why = {"why": self.why} if self.why else {}
        return {
            "field": self.check.field,
            "operator": self.check.operator,
            "value": shown(self.check.value),
            "saw": None if self.saw is MISSING else shown(self.saw),
            "passed": self.passed,
            "severity": self.check.severity,
            "action": self.check.action,
            "label": self.check.label,
            **why,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """`action` is the worst that a failed check asks for: abort, rework, hold or proceed."""

    action: str
    results: tuple[Result, ...]


def evaluate(group: Group | None, read: Read) -> Verdict:
    """All checks are evaluated and reported; the worst failed action of the group wins."""
    if group is None:
        return Verdict("proceed", ())
    results = {id(check): _run(check, read) for check in group.checks()}
    rank = _worst(group, results)
    action = next((name for name, value in RANK.items() if value == rank), "proceed")
    return Verdict(action, tuple(results[id(check)] for check in group.checks()))


def worst(actions: list[str]) -> str:
    return max(actions, key=lambda action: RANK.get(action, 0), default="proceed")


def _run(check: Check, read: Read) -> Result:
    try:
        value = read(check.field)
    except UnknownField:
        return Result(check, False, MISSING, "unknown field")
    if value is MISSING:
        return Result(check, False, MISSING, "no value")
    operator = OPERATORS[check.operator]
    if check.field == "eval" and check.operator == "in":
        return Result(check, any(equal(_eval_beside(value, each), each) for each in check.prepared), value)
    value = _eval_beside(value, check.value) if check.field == "eval" else value
    return Result(check, operator(value, check.prepared), value)


def _eval_beside(text: str, operand: Any) -> Any:
    """An eval as it compares: by its number with a number, if it says one, else as text."""
    number = number_in(text) if is_number(operand) else None
    return text if number is None else number


def _worst(member: Group | Check, results: dict[int, Result]) -> int:
    """The rank of the worst action that a member asks for, 0 if it asks for none."""
    if isinstance(member, Check):
        return 0 if results[id(member)].passed else RANK.get(member.action, 0)
    if member.kind == "any" and _passes(member, results):
        return 0
    return max((_worst(each, results) for each in member.counted), default=0)


def _passes(member: Group | Check, results: dict[int, Result]) -> bool:
    if isinstance(member, Check):
        return results[id(member)].passed
    decide = all if member.kind == "all" else any
    return decide(_passes(each, results) for each in member.counted)
