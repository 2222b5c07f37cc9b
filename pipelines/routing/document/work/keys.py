"""The fields that a station's work is made of: those of the whole document, and what only work says of them. Which of
their texts are templates, which secrets and variables they name, what keeps them from being published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import is_number
from pipelines.routing.basics.wording import PartName
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields import plain_fields
from pipelines.routing.document.fields.field import Field, ReadContext
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.work.references import (
    note_reference_problems,
    reference_schemas,
    referenced_names,
)

Work = Mapping[str, Any]
TextsIn = Iterator[tuple[str, str]]
PROMPT = 1_000_000
"""Characters of the longest texts."""


def never_applies(work: Work) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class WorkKey(Field):
    """`asked`: what is said where a line is published without it, "" where it may be left out; `spared`: whether this
    work does without it. `hidden`: whether its field is left out of the inspector, since it means nothing there."""

    asked: str = ""
    spared: Callable[[Work], bool] = never_applies
    hidden: Callable[[Work], bool] = never_applies

    def templates(self, value: Any, path: str) -> TextsIn:
        """The texts in its value that are rendered before the work starts, each with its place."""
        return iter(())

    def references(self, value: Any, kind: str) -> Iterator[str]:
        """The secrets, or the variables, that its value names."""
        return iter(())

    def publishing_problems(self, key: str, line: ParsedLine, work: Work, path: str) -> Iterator[Problem]:
        """Yield the problems of the key that prevent publishing; `path` is that of the work."""
        value = work.get(key)
        missing = not value or (type(value) is str and not value.strip())
        if self.asked and missing and not self.spared(work):
            yield Problem(f"{path}.{key}", "is missing", self.asked)


@dataclass(frozen=True, kw_only=True)
class TextKey(plain_fields.Text, WorkKey):
    template: bool = False

    def templates(self, value: Any, path: str) -> TextsIn:
        if self.template and type(value) is str:
            yield path, value


@dataclass(frozen=True, kw_only=True)
class ContextKey(TextKey):
    """Names a key of the context."""

    longest: int = 64

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        context_key = super().read(reader, key, context)
        if not context_key.strip():
            reader.note(key, "is empty", "name the key of the context that holds the conversation")
        return context_key

    def schema(self) -> Schema:
        return {**super().schema(), **schema_parts.SOME_TEXT}


@dataclass(frozen=True, kw_only=True)
class StationKey(TextKey):
    """Names a station of this kind of work. `none`: how no station is called."""

    kind: str
    none: str

    def publishing_problems(self, key: str, line: ParsedLine, work: Work, path: str) -> Iterator[Problem]:
        yield from super().publishing_problems(key, line, work, path)
        station_key = work.get(key)
        its = line.stations_by_key.get(station_key) if station_key else None
        if station_key and (its is None or its.kind != self.kind):
            message = _("“%(named)s” is no station that runs %(kind)s", named=station_key, kind=self.kind)
            yield Problem(f"{path}.{key}", message, _("name one of kind %(kind)s", kind=self.kind))


@dataclass(frozen=True, kw_only=True)
class GateKey(TextKey):
    """Names a gate at which a person is always asked. `none`: how no gate is called."""

    none: str

    def publishing_problems(self, key: str, line: ParsedLine, work: Work, path: str) -> Iterator[Problem]:
        yield from super().publishing_problems(key, line, work, path)
        gate_key = work.get(key)
        gate = line.gates_by_key.get(gate_key) if gate_key else None
        if gate_key and gate is None:
            message = _("the line has no gate “%(named)s”", named=gate_key)
            yield Problem(f"{path}.{key}", message, "name a gate of the line")
        elif gate is not None and not gate.always_asks:
            message = _("%(gate)s does not always ask a person", gate=PartName(gate.key, lambda: gate.name))
            yield Problem(f"{path}.{key}", message, "name a gate whose mode asks a person every time")


@dataclass(frozen=True, kw_only=True)
class ChoiceKey(plain_fields.Choice, WorkKey):
    pass


@dataclass(frozen=True, kw_only=True)
class FlagKey(plain_fields.Flag, WorkKey):
    pass


@dataclass(frozen=True, kw_only=True)
class CountKey(plain_fields.Count, WorkKey):
    pass


@dataclass(frozen=True, kw_only=True)
class AmountKey(plain_fields.Amount, WorkKey):
    pass


@dataclass(frozen=True, kw_only=True)
class DurationKey(plain_fields.Duration, WorkKey):
    pass


@dataclass(frozen=True, kw_only=True)
class NumberKey(WorkKey):
    """Number from 0 to `most`, with fractions."""

    most: int

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        if not (is_number(value) and 0 <= value <= self.most):
            reader.note(key, _("has to be a number from 0 to %(most)s", most=self.most))
        return value

    def schema(self) -> Schema:
        return {"type": "number", "minimum": 0, "maximum": self.most}


@dataclass(frozen=True, kw_only=True)
class JsonKey(WorkKey):
    """JSON of any form; its texts are templates."""

    rows: int = 3

    def templates(self, value: Any, path: str) -> TextsIn:
        return texts_with_places(value, path)


@dataclass(frozen=True, kw_only=True)
class ArgumentsKey(plain_fields.Texts, WorkKey):
    """A program with its arguments."""

    rows: int = 3

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        command = super().read(reader, key, context)
        if reader.given[key] == []:
            reader.note(key, "names no program")
        return command

    def schema(self) -> Schema:
        return {**super().schema(), "minItems": 1}

    def templates(self, value: Any, path: str) -> TextsIn:
        return texts_with_places(value, path)


@dataclass(frozen=True, kw_only=True)
class ValuesByName(WorkKey):
    """Values by name, each a template, or a secret or variable that the worker fills in."""

    def templates(self, value: Any, path: str) -> TextsIn:
        for name, template in (value or {}).items():
            if type(template) is str:
                yield member_path(path, name), template

    def references(self, value: Any, kind: str) -> Iterator[str]:
        """Whoever publishes a secret needs the permission `execute`."""
        yield from referenced_names(value, kind)


@dataclass(frozen=True, kw_only=True)
class EnvironmentKey(plain_fields.Object, ValuesByName):
    """Names of variables, and their values: each a text, or a secret or variable that the worker fills in."""

    rows: int = 2

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        environment = super().read(reader, key, context)
        for name, value in environment.items():
            at = member_path(reader.path_of(key), name)
            if type(value) is dict and name and "=" not in name:
                note_reference_problems(value, at, reader.problems)
            elif type(value) is not str or not name or "=" in name:
                # In the environment of a process a name ends at the first `=`.
                reader.problems.note(at, "an environment is names and texts")
        return environment

    def schema(self) -> Schema:
        return {
            **super().schema(),
            "additionalProperties": {"anyOf": [schema_parts.TEXT, *reference_schemas()]},
        }


def texts_with_places(value: Any, path: str) -> TextsIn:
    """Every text in a JSON value, with its place."""
    if type(value) is str:
        yield path, value
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            yield from texts_with_places(member, member_path(path, index))
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from texts_with_places(member, member_path(path, key))
