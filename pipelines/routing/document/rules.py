"""Rules: ordered transitions out of a station (law §5). A faulty `when`, `to` or `gates` may wait until the rule is
reached; the rest may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.schema_parts import SOME_TEXT, Schema
from pipelines.routing.basics.values import kind_phrase
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import (
    AnswerTest,
    Condition,
    ConditionView,
    PathTest,
    condition_leaf_tests,
)
from pipelines.routing.document.compiled_conditions import (
    compile_condition,
    condition_test_forgetting_earlier_text,
)
from pipelines.routing.document.compose_strategies import STRATEGIES
from pipelines.routing.document.document_readers.conditions import FALLBACK, read_condition
from pipelines.routing.document.document_readers.names import quoted_name
from pipelines.routing.document.document_readers.reader import Problems, Reader, expected_hint, quoted_value
from pipelines.routing.document.evaluations import Evaluation
from pipelines.routing.document.exhausted_limits import ExhaustedAction
from pipelines.routing.document.fields.field import Field, ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.nested import ListField
from pipelines.routing.document.fields.plain_fields import Choice, Count, Flag, Id, Text, extra_members
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.paths import OutputPath, PathError, compile_path

ORIGIN: Final = "@origin"
BLOCKED: Final = "@blocked"
SYMBOLS: Final = {ORIGIN: "Back where it came from", BLOCKED: "Wait for an answer"}
"""What a rule can lead to beside stations and ends, as its form calls it."""
MAX_TARGETS: Final = 100
LATE: Final = ("when", "to", "gates")
"""Keys that may be faulty until the rule is reached."""


# What it sets


@dataclass(frozen=True, kw_only=True)
class Variable(Text):
    required: bool = True
    longest: int = 128

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        var = super().read(reader, key, context)
        if var.strip() and (set(var) & set("{}") or any(c.isspace() for c in var)):
            reader.note(key, "the name of a variable has no spaces and no braces")
        return var


@dataclass(frozen=True, kw_only=True)
class ComposePathField(Field):
    """A path in the output; the whole of it where there is none."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        try:
            return compile_path(reader.text(key, required=True) or "$")
        except PathError as error:
            reader.note(key, str(error))
            return None

    def write(self, value: Any) -> Any:
        return value.text if value else None

    def schema(self) -> Schema:
        return SOME_TEXT


@dataclass(frozen=True)
class Compose:
    """Stores what `path` finds (the whole output if there is none) in the variable `var`, merged by `strategy`."""

    var: str = declared_field(Variable(label="Variable", code=True), required=True)
    path: OutputPath | None = declared_field(ComposePathField(label="Path"))
    strategy: str | None = declared_field(Choice(tuple(STRATEGIES), default=None, label="With what it held"))


def _note_missing_compose_path(reader: Reader, context: ReadContext) -> None:
    if not reader.has("path") and not reader.has("strategy"):
        reader.note("path", "is missing")


COMPOSE: Final = Record.of(
    Compose,
    check=_note_missing_compose_path,
    rules={"anyOf": [{"required": ["path"]}, {"required": ["strategy"]}]},
)


# What may be faulty until the rule is reached


@dataclass(frozen=True, kw_only=True)
class ParseFunctionField(Field):
    """Key whose faults may stay with the rule until it is reached; the value as written stays, too
    (`RuleRecord`)."""

    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return self.parse_value(reader.raw(key), reader.path_of(key), context, reader.values["fault"])

    def parse_value(self, value: Any, path: str, context: ReadContext, own: Problems) -> Any:
        """Return the parsed value; its faults are noted in `own`."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ConditionField(ParseFunctionField):
    default: Any = FALLBACK

    def parse_value(self, value: Any, path: str, context: ReadContext, own: Problems) -> Any:
        return read_condition(value, path, own, context.names.places)

    def schema(self) -> Schema:
        return schema_parts.definition_reference("condition")


@dataclass(frozen=True, kw_only=True)
class TargetsField(ParseFunctionField):
    required: bool = True
    default: tuple[str, ...] = ()

    def parse_value(self, value: Any, path: str, context: ReadContext, own: Problems) -> Any:
        if type(value) is str:
            return _read_target(value, path, context, own)
        if type(value) is list:
            return _read_fork(value, path, context, own)
        own.note(path, _("has to be a key or a list of keys, not %(value)s", value=kind_phrase(value)))
        return ()

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        reader.values["fault"].note(reader.path_of(key), "is missing")
        return self.default

    def schema(self) -> Schema:
        fork = schema_parts.list_schema(SOME_TEXT, minItems=1, maxItems=MAX_TARGETS, uniqueItems=True)
        return {"anyOf": [SOME_TEXT, fork]}


def _read_target(value: str, path: str, context: ReadContext, own: Problems) -> tuple[str, ...]:
    known = {**context.names.places, **SYMBOLS}
    if value not in known:
        own.note(
            path,
            _("the line has no station or end %(value)s", value=quoted_value(value)),
            expected_hint(value, known),
        )
    return (value,)


def _read_fork(values: list[Any], path: str, context: ReadContext, own: Problems) -> tuple[str, ...]:
    if not values or len(values) > MAX_TARGETS:
        own.note(path, _("a fork has between 1 and %(most)s targets", most=MAX_TARGETS))
    for index, value in enumerate(values):
        if type(value) is not str or value not in context.names.stations:
            target_name = quoted_name(context.names.ends, value) if type(value) is str else kind_phrase(value)
            own.note(
                member_path(path, index),
                _("a fork leads to stations of the line, not to %(shown)s", shown=target_name),
            )
        # Two branches at one station could not be told apart at a join
        elif value in values[:index]:
            twice = quoted_name(context.names.stations, value)
            own.note(member_path(path, index), _("the fork leads to %(value)s twice", value=twice))
    return tuple(map(str, values))


@dataclass(frozen=True, kw_only=True)
class GatesField(ParseFunctionField):
    """The gates that are asked, each once."""

    default: tuple[str, ...] = ()

    def parse_value(self, value: Any, path: str, context: ReadContext, own: Problems) -> Any:
        if type(value) is not list:
            own.note(path, _("has to be a list of gates, not %(value)s", value=kind_phrase(value)))
            return ()
        for index, gate in enumerate(value):
            if type(gate) is not str or gate not in context.names.gates:
                gate_name = quoted_value(gate) if type(gate) is str else kind_phrase(gate)
                hint = expected_hint(str(gate), context.names.gates)
                own.note(member_path(path, index), _("the line has no gate %(shown)s", shown=gate_name), hint)
        return tuple(dict.fromkeys(map(str, value)))

    def schema(self) -> Schema:
        return schema_parts.list_schema(SOME_TEXT)


# The rule


@dataclass(frozen=True)
class Rule:
    """Transition of a station, in order. `to` has one key, or several for a fork; `@origin` and `@blocked`
    stand alone.

    A rule whose `when`, `to` or `gates` is faulty has `fault`, and `source` holds these three as written.
    `on_exhausted` is fail, stuck, escalate, or None; `exhausted_to` is the key of `{to: key}`.
    """

    id: str = declared_field(
        Id(label="Id", help="What the rule is known by, whatever its place. Unique in the line."),
        required=True,
    )
    label: str = declared_field(Text(label="Label", help="Shown on the canvas in place of the condition."))
    when: Condition = declared_field(ConditionField())
    to: tuple[str, ...] = declared_field(TargetsField())
    gates: tuple[str, ...] = declared_field(GatesField())
    max_retries: int | None = declared_field(
        Count(
            label="Most times it is taken",
            help="By one task. Of a rule back to its own station: one less than its runs.",
        )
    )
    max_visits: int | None = declared_field(
        Count(
            label="Most entries of its target",
            help="By one task, on whatever way it came there.",
        )
    )
    allow_revisit: bool | None = declared_field(
        Flag(
            default=None,
            written=WriteCondition.UNLESS_NONE,
            label="Back to a station where the task was already",
        )
    )
    on_exhausted: str | None = declared_field(ExhaustedAction(label="After that"))
    exhausted_to: str | None = None
    feedback: bool = declared_field(
        Flag(
            label="Hand the text of the last evaluation on as feedback",
            help="To the station that it enters.",
        )
    )
    compose: tuple[Compose, ...] = declared_field(ListField(COMPOSE))
    fault: Problem | None = None
    source: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    extra: Mapping[str, Any] = declared_field(extra_members())

    @cached_property
    def test(self) -> Callable[[ConditionView], bool]:
        """Function that returns whether the condition is true of a view. Only for a rule without a fault."""
        test = compile_condition(self.when)
        # The text of another rule's evaluation is not for this rule to hand on (law §5, Feedback).
        return condition_test_forgetting_earlier_text(test) if self.has_evaluations else test

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Evaluations of the condition, in the order in which they are asked."""
        return tuple(
            leaf.evaluation for leaf in condition_leaf_tests(self.when) if isinstance(leaf, AnswerTest)
        )

    @property
    def has_evaluations(self) -> bool:
        """Return whether the condition has an evaluation, whose text it may hand on."""
        return bool(self.evaluations)

    @cached_property
    def jsonpath_count(self) -> int:
        """Number of operands of the condition that have a path with `$`, which may have to be walked."""
        return sum(
            isinstance(leaf, PathTest) and not leaf.path.is_key for leaf in condition_leaf_tests(self.when)
        )


class RuleRecord(Record[Rule]):
    def values(self, reader: Reader, context: ReadContext) -> dict[str, Any]:
        # With `keep` the faults of `when`, `to` and `gates` stay with the rule until it is reached.
        own = reader.values["fault"] = Problems() if context.keep else reader.problems
        values = super().values(reader, context)
        source = {key: reader.given[key] for key in LATE if key in reader.given}
        return {**values, "fault": _combined_fault_or_none(own) if context.keep else None, "source": source}

    def write(self, value: Rule) -> dict[str, Any]:
        document = super().write(value)
        return {
            key: value.source.get(key, member)
            for key, member in document.items()
            if key not in LATE or key in value.source
        }


def _combined_fault_or_none(own: Problems) -> Problem | None:
    """The first fault, with the number of the others."""
    if not own.found:
        return None
    first, others = own.found[0], len(own.found) - 1
    more = _("%(first)s (and %(others)s more)", first=first.message, others=others)
    return Problem(first.path, more if others else first.message, first.hint)


RULE: Final = RuleRecord.of(Rule, name="rule", first=("id", *LATE, "on_exhausted"))
