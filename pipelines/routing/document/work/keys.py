"""What the keys of a station's work are made of. A key is declared once, by its kind of work: how it is read, its JSON
Schema, its field in the inspector and its templates all follow from that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics.problems import Problem, join
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    COUNT,
    FLAG,
    SOME_TEXT,
    TEXT,
    Schema,
    listed,
    ref,
    words,
)
from pipelines.routing.basics.values import is_number
from pipelines.routing.document.model import Line
from pipelines.routing.document.reading.reader import Reader

Work = Mapping[str, Any]
Texts = Iterator[tuple[str, str]]
PROMPT = 1_000_000
"""Characters of the longest texts."""


def never(work: Work) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class Key:
    """`label`, `help` and `placeholder` are marked for translation, and shown with the field. `asked`: what is said
    where a line is published without it, "" where it may be left out; `spared`: whether this work does without it.
    `hidden`: whether its field is left out of the inspector, since it means nothing there."""

    name: str
    label: str = ""
    help: str = ""
    placeholder: str = ""
    asked: str = ""
    spared: Callable[[Work], bool] = never
    hidden: Callable[[Work], bool] = never

    def read(self, reader: Reader) -> None:
        """Notes what is wrong with it."""
        reader.raw(self.name)

    def schema(self) -> Schema:
        return ANYTHING

    def templates(self, value: Any, path: str) -> Texts:
        """The texts in its value that are rendered before the work starts, each with its place."""
        return iter(())

    def secrets(self, value: Any) -> Iterator[str]:
        """The secrets that its value names."""
        return iter(())

    def lacking(self, line: Line, work: Work, path: str) -> Iterator[Problem]:
        """What keeps it from being published; `path` is that of the work."""
        value = work.get(self.name)
        missing = not value or (type(value) is str and not value.strip())
        if self.asked and missing and not self.spared(work):
            yield Problem(f"{path}.{self.name}", "is missing", self.asked)


@dataclass(frozen=True, kw_only=True)
class Text(Key):
    """`rows`: of its field; `code`: set in the fixed font."""

    longest: int = 100_000
    template: bool = False
    rows: int = 0
    code: bool = False

    def read(self, reader: Reader) -> None:
        reader.text(self.name, longest=self.longest)

    def schema(self) -> Schema:
        return TEXT

    def templates(self, value: Any, path: str) -> Texts:
        if self.template and type(value) is str:
            yield path, value


@dataclass(frozen=True, kw_only=True)
class ContextKey(Text):
    """Names a key of the context."""

    longest: int = 64

    def read(self, reader: Reader) -> None:
        key = reader.text(self.name, longest=self.longest)
        if reader.has(self.name) and not key.strip():
            reader.note(self.name, "is empty", "name the key of the context that holds the conversation")

    def schema(self) -> Schema:
        return SOME_TEXT


@dataclass(frozen=True, kw_only=True)
class StationOf(Key):
    """Names a station of this kind of work. `none`: how no station is called."""

    kind: str
    none: str

    def read(self, reader: Reader) -> None:
        reader.text(self.name)

    def schema(self) -> Schema:
        return TEXT

    def lacking(self, line: Line, work: Work, path: str) -> Iterator[Problem]:
        yield from super().lacking(line, work, path)
        named = work.get(self.name)
        its = line.stations_by_key.get(named) if named else None
        if named and (its is None or its.kind != self.kind):
            message = f"“{named}” is no station that runs {self.kind}"
            yield Problem(f"{path}.{self.name}", message, f"name one of kind {self.kind}")


@dataclass(frozen=True, kw_only=True)
class Choice(Key):
    """One of `words`; `called`: what they are called, where they do not speak for themselves."""

    words: tuple[str, ...]
    usual: str
    called: Mapping[str, str] = field(default_factory=dict)

    def read(self, reader: Reader) -> None:
        reader.choice(self.name, self.words, self.usual)

    def schema(self) -> Schema:
        return words(self.words)


@dataclass(frozen=True, kw_only=True)
class Flag(Key):
    usual: bool = False

    def read(self, reader: Reader) -> None:
        reader.flag(self.name, self.usual)

    def schema(self) -> Schema:
        return FLAG


@dataclass(frozen=True, kw_only=True)
class Count(Key):
    least: int = 0

    def read(self, reader: Reader) -> None:
        reader.count(self.name, least=self.least)

    def schema(self) -> Schema:
        return {**COUNT, "minimum": self.least}


@dataclass(frozen=True, kw_only=True)
class Number(Key):
    """From 0 to `most`, with fractions."""

    most: int

    def read(self, reader: Reader) -> None:
        value = reader.raw(self.name)
        if reader.has(self.name) and not (is_number(value) and 0 <= value <= self.most):
            reader.note(self.name, f"has to be a number from 0 to {self.most}")

    def schema(self) -> Schema:
        return {"type": "number", "minimum": 0, "maximum": self.most}


@dataclass(frozen=True, kw_only=True)
class Duration(Key):
    def read(self, reader: Reader) -> None:
        reader.duration(self.name)

    def schema(self) -> Schema:
        return ref("duration")


@dataclass(frozen=True, kw_only=True)
class Json(Key):
    """Any JSON; its texts are templates. `rows`: of its field."""

    rows: int = 3

    def templates(self, value: Any, path: str) -> Texts:
        return texts_in(value, path)


@dataclass(frozen=True, kw_only=True)
class Arguments(Key):
    """A program with its arguments."""

    rows: int = 3

    def read(self, reader: Reader) -> None:
        reader.texts(self.name)
        if reader.given.get(self.name) == []:
            reader.note(self.name, "names no program")

    def schema(self) -> Schema:
        return listed(SOME_TEXT, minItems=1)

    def templates(self, value: Any, path: str) -> Texts:
        return texts_in(value, path)


@dataclass(frozen=True, kw_only=True)
class Environment(Key):
    """Names of variables, and their values."""

    def read(self, reader: Reader) -> None:
        for name, value in reader.object(self.name).items():
            if type(value) is not str or not name or "=" in name:
                reader.problems.note(join(reader.at(self.name), name), "an environment is names and texts")

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": TEXT}

    def templates(self, value: Any, path: str) -> Texts:
        return texts_in(value, path)


def texts_in(value: Any, path: str) -> Texts:
    """Every text in a JSON value, with its place."""
    if type(value) is str:
        yield path, value
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            yield from texts_in(member, join(path, index))
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from texts_in(member, join(path, key))
