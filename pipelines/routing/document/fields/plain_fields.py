"""Keys that hold one plain value, or a list of texts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import MISSING, is_number
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import (
    MAX_ID,
    note_duplicates,
    note_unknown_reference,
    read_id,
    read_key,
)
from pipelines.routing.document.document_readers.reader import Reader, expected_hint, unknown_word_message
from pipelines.routing.document.fields.field import Field, ReadContext, WriteCondition


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """`longest`: in characters. A required one is not blank. With the default None it matters whether it is said."""

    default: str | None = ""
    longest: int = 100_000

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.text(key, required=self.required, longest=self.longest)

    def schema(self) -> Schema:
        bounded = {"maxLength": self.longest} if self.longest != Text.longest else {}
        return {**(schema_parts.SOME_TEXT if self.required else schema_parts.TEXT), **bounded}


@dataclass(frozen=True, kw_only=True)
class Key(Field):
    """Key that identifies a part of the line."""

    required: bool = True
    default: str = ""
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return read_key(reader, key)

    def schema(self) -> Schema:
        return schema_parts.definition_reference("key")


@dataclass(frozen=True, kw_only=True)
class Id(Field):
    """Id that identifies a rule."""

    required: bool = True
    default: str = ""
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return read_id(reader, key)

    def schema(self) -> Schema:
        return {**schema_parts.SOME_TEXT, "maxLength": MAX_ID}


@dataclass(frozen=True, kw_only=True)
class Name(Field):
    """Name for people; the key where it is absent."""

    default: str = ""
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.text(key, reader.values["key"])

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.values["key"]

    def schema(self) -> Schema:
        return schema_parts.TEXT


@dataclass(frozen=True, kw_only=True)
class Flag(Field):
    """True or false. With the default None it matters whether it is said."""

    default: bool | None = False

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.flag(key, bool(self.default))

    def schema(self) -> Schema:
        return schema_parts.FLAG


@dataclass(frozen=True, kw_only=True)
class Count(Field):
    """A whole number from `least` on, up to `most`."""

    least: int = 0
    most: int | None = None
    default: int | None = None

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        number = reader.count(key, self.default, least=self.least)
        # Told, and kept: what else is wrong with this object is told in the same answer
        if number is not None and self.most is not None and number > self.most:
            reader.note(key, _("is at most %(most)s", most=self.most))
        return number

    def schema(self) -> Schema:
        most = {} if self.most is None else {"maximum": self.most}
        return {**schema_parts.COUNT, "minimum": self.least, **most}


@dataclass(frozen=True, kw_only=True)
class Amount(Field):
    """A number, 0 or more, exactly as it is written."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        # As it was read: by way of a float an amount would lose digits
        number = reader.raw(key)
        if not is_number(number) or number < 0:
            reader.note(key, "has to be a number, 0 or more")
            return self.default
        return number

    def schema(self) -> Schema:
        return {"type": "number", "minimum": 0}


@dataclass(frozen=True, kw_only=True)
class Duration(Field):
    """Duration in seconds."""

    default: float | None = None

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        duration = reader.duration(key)
        return self.default if duration is None else duration

    def schema(self) -> Schema:
        return schema_parts.definition_reference("duration")


@dataclass(frozen=True, kw_only=True)
class Choice(Field):
    """Choice from `choices`: words of the document, with their labels for people where the inspector offers
    them."""

    choices: Collection[str] = field(kw_only=False)
    default: str | None = None

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        usual = next(iter(self.choices)) if self.default is None else self.default
        return reader.choice(key, self.choices, usual)

    def schema(self) -> Schema:
        return schema_parts.enum_schema(self.choices)


@dataclass(frozen=True, kw_only=True)
class Texts(Field):
    """A list of texts, none of them empty. `between`: what the inspector puts between them."""

    default: tuple[str, ...] = ()
    between: str = "\n"

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.texts(key)

    def write(self, value: Any) -> Any:
        return list(value)

    def schema(self) -> Schema:
        return schema_parts.list_schema(schema_parts.SOME_TEXT)


@dataclass(frozen=True, kw_only=True)
class ChoiceList(Texts):
    """Some of `choices`, each once; `what` a sentence calls one."""

    choices: Collection[str] = field(kw_only=False)
    what: str = field(kw_only=False)

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        words = reader.texts(key)
        for index, word in enumerate(words):
            if word not in self.choices:
                hint = expected_hint(word, self.choices)
                reader.problems.note(
                    member_path(reader.path_of(key), index), unknown_word_message(word), hint
                )
        note_duplicates(reader, key, words, self.what)
        # Without the unknown ones, so that what asks for these words is still checked
        return tuple(word for word in words if word in self.choices)

    def schema(self) -> Schema:
        return schema_parts.list_schema(schema_parts.enum_schema(self.choices), uniqueItems=True)


@dataclass(frozen=True, kw_only=True)
class Reference(Field):
    """The key of another part of the line: `part` as in Names, `what` as a sentence calls it. `blank`: nothing may be
    named, too."""

    part: str = field(kw_only=False)
    what: str = field(kw_only=False)
    default: str | None = None
    blank: bool = False

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.text(key)
        note_unknown_reference(reader, key, value, getattr(context.names, self.part), self.what)
        if not self.blank and reader.given[key] == "":
            reader.note(key, "is empty")
        return value

    def schema(self) -> Schema:
        return schema_parts.TEXT if self.blank else schema_parts.SOME_TEXT


@dataclass(frozen=True, kw_only=True)
class Object(Field):
    """An object with any members."""

    default: Any = field(default_factory=dict)
    description: str = ""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.object(key)

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return {}

    def write(self, value: Any) -> Any:
        return dict(value)

    def schema(self) -> Schema:
        about = {"description": self.description} if self.description else {}
        return {"type": "object", **about}


@dataclass(frozen=True, kw_only=True)
class Anything(Field):
    """Value of any kind, null too: whether there is one fills the second attribute."""

    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        # null is a value, too: only the second attribute tells it from none
        return (value, True) if self.fills else value

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return (None, False) if self.fills else None

    def write(self, value: Any) -> Any:
        return value[0] if value[1] else MISSING


def extra_members() -> Any:
    return Object(description="Kept, written back, never read.")
