"""Checks of a gate: groups of `field, operator, value, severity, action, label` (law §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema, operator_schema
from pipelines.routing.basics.values import MISSING, are_equal, is_number, json_number_or_none, kind_phrase
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import operators
from pipelines.routing.document.document_readers.reader import Problems, Reader
from pipelines.routing.document.fields.field import (
    NOWHERE,
    Field,
    ReadContext,
    WriteCondition,
    declared_field,
)
from pipelines.routing.document.fields.plain_fields import Choice, Text
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.operand_trace import shorten_value

COMPARED: Final = {
    "equals": "equals",
    "not_equals": "not_equals",
    "less_than": "lt",
    "less_than_or_equal": "lte",
    "greater_than": "gt",
    "greater_than_or_equal": "gte",
    "contains": "contains",
    "matches": "matches",
    "in": "in",
}
"""What compares, and how conditions call it."""
OPERATORS: dict[str, operators.Test] = {
    **{name: operators.OUTPUT[key].holds for name, key in COMPARED.items()},
    # An absent value fails every check before its operator is asked.
    "exists": lambda value, ignored: True,
}
WORDS: Final = {
    **{name: operators.OUTPUT[key].words for name, key in COMPARED.items()},
    "exists": operators.ALONE["exists"],
}
"""The operators as people read them."""
SEVERITIES: Final = {
    "warn": "Warning: shown only",
    "required": "Required",
    "block": "Required, shown as a blocker",
}
ACTIONS: Final = {
    "proceed": "Proceed",
    "hold": "Hold: ask a person",
    "rework": "Rework: the rules as after a failure",
    "abort": "Abort: the task fails",
    "notify": "Notify",
    "escalate": "Escalate",
}
RANK = {"abort": 3, "rework": 2, "hold": 1}
"""Actions that route, the worst highest; the others are 0 and route nothing."""
MAX_NESTING = 3

Read = Callable[[str], Any]
"""A field's value: MISSING if it is absent. Raises UnknownField."""


class UnknownField(KeyError):
    """No field of this name exists for checks."""


@dataclass(frozen=True, kw_only=True)
class Operand(Field):
    """Right-hand value of a check: as written, and as the operator needs it (a compiled pattern). `exists`
    has no value."""

    fills: tuple[str, ...] = ("operator", "value", "prepared")
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        operator, value = reader.values["operator"], reader.raw(key)
        if operator == "exists":
            return operator, None, None
        try:
            return operator, value, operators.prepare_operand(operator, value)
        except operators.OperandError as error:
            reader.note(key, str(error))
            return operator, value, None

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        operator = reader.values["operator"]
        if operator != "exists":
            reader.note(key, "is missing")
        return operator, None, None

    def write(self, value: Any) -> Any:
        operator, operand, _prepared = value
        return MISSING if operator == "exists" else operand


@dataclass(frozen=True, slots=True)
class Check:
    """Check of one field. `prepared` is the value as the operator needs it (a compiled pattern)."""

    field: str = declared_field(
        Text(
            required=True,
            label="Field",
            help=(
                "Of the outcome; or output.key, input.key, context.key, task.title, gates.key, git.key,"
                " facts.tests.failed."
            ),
        ),
        required=True,
    )
    operator: str = declared_field(
        Choice(WORDS, required=True, default="exists", label="Operator"), required=True
    )
    value: Any = declared_field(Operand(label="Value", help="A number, true, a text, or JSON."))
    severity: str = declared_field(Choice(SEVERITIES, default="required", label="How grave it is"))
    action: str = declared_field(Choice(ACTIONS, default="hold", label="If it fails"))
    label: str = declared_field(Text(label="Label"))
    prepared: Any = attribute(default=None, compare=False, repr=False)


CHECK: Final = Record.of(
    Check,
    name="check",
    rules={
        "allOf": [
            operator_schema("operator", "matches", schema_parts.TEXT),
            operator_schema("operator", "in", {"type": "array"}),
        ],
        "if": {"properties": {"operator": {"const": "exists"}}},
        "else": {"required": ["value"]},
    },
)


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """`kind`: all or any; nested up to three deep."""

    kind: str
    members: tuple[Check | CheckGroup, ...]

    def checks(self) -> Iterator[Check]:
        for member in self.members:
            if isinstance(member, CheckGroup):
                yield from member.checks()
            else:
                yield member

    @property
    def counting_members(self) -> tuple[Check | CheckGroup, ...]:
        """Members that count: no warnings, which are displayed and belong to no group, and no groups of
        nothing else."""
        return tuple(member for member in self.members if _is_counting(member))


@dataclass(frozen=True, kw_only=True)
class CheckGroupField(Field):
    """A group of checks: `{all: […]}` or `{any: […]}`, whose members are checks or groups."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return _read_group_or_none(reader.raw(key), reader.path_of(key), reader.problems, 1)

    def write(self, value: Any) -> Any:
        return None if value is None else _write_member(value)

    def schema(self) -> Schema:
        return schema_parts.definition_reference("checks")

    def definitions(self) -> Mapping[str, Schema]:
        """Nested up to three deep: the schema says so by name, the reader counts."""
        member = {
            "anyOf": [schema_parts.definition_reference("check"), schema_parts.definition_reference("checks")]
        }
        kinds = [
            schema_parts.condition_schema(kind, schema_parts.list_schema(member)) for kind in ("all", "any")
        ]
        return {"checks": {"oneOf": kinds}, **CHECK.definitions()}


def _read_group_or_none(value: Any, path: str, problems: Problems, at_depth: int) -> CheckGroup | None:
    if type(value) is not dict or len(value) != 1 or next(iter(value)) not in ("all", "any"):
        problems.note(path, "a group of checks is {all: […]} or {any: […]}")
        return None
    # Groups nest up to three deep (law §6).
    if at_depth > MAX_NESTING:
        problems.note(path, _("groups of checks nest at most %(most)s deep", most=MAX_NESTING))
        return None
    [(kind, members)] = value.items()
    if type(members) is not list:
        problems.note(
            member_path(path, kind),
            _("has to be a list of checks, not %(members)s", members=kind_phrase(members)),
        )
        return None
    read = [
        _read_member_or_none(m, member_path(member_path(path, kind), i), problems, at_depth)
        for i, m in enumerate(members)
    ]
    return CheckGroup(kind, tuple(member for member in read if member is not None))


def _read_member_or_none(value: Any, path: str, problems: Problems, depth: int) -> Check | CheckGroup | None:
    if type(value) is dict and ("all" in value or "any" in value):
        return _read_group_or_none(value, path, problems, depth + 1)
    return CHECK.read(Reader(value, path, problems), NOWHERE)


def _write_member(member: Check | CheckGroup) -> dict[str, Any]:
    if isinstance(member, CheckGroup):
        return {member.kind: [_write_member(inner) for inner in member.members]}
    return CHECK.write(member)


def _is_counting(member: Check | CheckGroup) -> bool:
    return bool(member.counting_members) if isinstance(member, CheckGroup) else member.severity != "warn"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check: the value it saw, whether it passed, and why it did not where the reason is not
    the value."""

    check: Check
    passed: bool
    saw: Any
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        why = {"why": self.why} if self.why else {}
        return {
            "field": self.check.field,
            "operator": self.check.operator,
            "value": shorten_value(self.check.value),
            "saw": None if self.saw is MISSING else shorten_value(self.saw),
            "passed": self.passed,
            "severity": self.check.severity,
            "action": self.check.action,
            "label": self.check.label,
            **why,
        }


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """`action` is the worst that a failed check asks for: abort, rework, hold or proceed."""

    action: str
    results: tuple[CheckResult, ...]


def evaluate_group(group: CheckGroup | None, read: Read) -> GroupVerdict:
    """Evaluate and report all checks; the worst failed action of the group wins."""
    if group is None:
        return GroupVerdict("proceed", ())
    results = {id(check): _run_check(check, read) for check in group.checks()}
    rank = _worst_rank(group, results)
    action = next((name for name, value in RANK.items() if value == rank), "proceed")
    return GroupVerdict(action, tuple(results[id(check)] for check in group.checks()))


def is_reason_to_ask_with_results(
    group: CheckGroup | None, read: Read
) -> tuple[bool, tuple[CheckResult, ...]]:
    """Return whether a group is a reason to ask (law §15, Sampling), with its results: where it passes, and
    where one of its checks cannot be read. A group without checks is no reason."""
    if group is None:
        return False, ()
    results = {id(check): _run_check(check, read) for check in group.checks()}
    return _is_reason(group, results), tuple(results[id(check)] for check in group.checks())


def _is_reason(member: CheckGroup | Check, results: dict[int, CheckResult]) -> bool:
    if isinstance(member, Check):
        result = results[id(member)]
        return result.passed or bool(result.why)
    decide = all if member.kind == "all" else any
    # `all` of nothing is true, but a group without checks is no reason.
    return bool(member.members) and decide(_is_reason(inner, results) for inner in member.members)


def worst_action(actions: list[str]) -> str:
    return max(actions, key=lambda action: RANK.get(action, 0), default="proceed")


def _run_check(check: Check, read: Read) -> CheckResult:
    try:
        value = read(check.field)
    except UnknownField:
        return CheckResult(check, False, MISSING, "unknown field")
    if value is MISSING:
        return CheckResult(check, False, MISSING, "no value")
    operator = OPERATORS[check.operator]
    # By its number with each number of the list, as text with the others (law §12)
    if check.field == "eval" and check.operator == "in":
        return CheckResult(
            check,
            any(are_equal(_comparable_eval(value, operand), operand) for operand in check.prepared),
            value,
        )
    value = _comparable_eval(value, check.value) if check.field == "eval" else value
    return CheckResult(check, operator(value, check.prepared), value)


def _comparable_eval(text: str, operand: Any) -> Any:
    """An eval as it compares: by its number with a number, if it says one, else as text."""
    number = json_number_or_none(text) if is_number(operand) else None
    return text if number is None else number


def _worst_rank(member: CheckGroup | Check, results: dict[int, CheckResult]) -> int:
    """The rank of the worst action that a member asks for, 0 if it asks for none."""
    if isinstance(member, Check):
        return 0 if results[id(member)].passed else RANK.get(member.action, 0)
    # A passed `any` group counts as nothing, whatever in it failed.
    if member.kind == "any" and _group_passes(member, results):
        return 0
    return max((_worst_rank(inner, results) for inner in member.counting_members), default=0)


def _group_passes(member: CheckGroup | Check, results: dict[int, CheckResult]) -> bool:
    if isinstance(member, Check):
        return results[id(member)].passed
    decide = all if member.kind == "all" else any
    return decide(_group_passes(inner, results) for inner in member.counting_members)
