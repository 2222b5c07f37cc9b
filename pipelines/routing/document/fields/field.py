"""Key of an object of the line document, declared once.

A declaration defines what the key may hold, what its absence means, how it is written back, and how people
see it. The reader, the writer, the JSON Schema, the TypeScript types and the plain fields of the inspector
come from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from pipelines.routing.basics.schema_parts import ANYTHING, Schema
from pipelines.routing.document.document_readers.names import Names
from pipelines.routing.document.document_readers.reader import Reader

FIELD: Final = "field"
"""The key of a declaration in the metadata of an attribute."""


class WriteCondition(Enum):
    """Condition under which a key is written back."""

    ALWAYS = "always"
    UNLESS_NONE = "unless none"
    UNLESS_EMPTY = "unless empty"
    """Also not where it is False, or an empty text, list or object; 0 is written."""


NO_NAMES: Final = Names()


def _raw_work(reader: Reader) -> Mapping[str, Any]:
    return reader.given


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Context in which a key is read: the names that the document declares and the preset of its policy.
    `keep`: keep rules whose `when`, `to` or `gates` is faulty. `work` reads what a station does."""

    names: Names = NO_NAMES
    preset: str = ""
    keep: bool = False
    work: Callable[[Reader], Mapping[str, Any]] = _raw_work


NOWHERE: Final = ReadContext()


@dataclass(frozen=True, kw_only=True)
class Field:
    """`default`: what an absent key means. `remedy`: the hint where a required one is missing. `fills`: the attributes
    that the value fills, where it is not the one of its name: then `read` returns a tuple of as many values.

    `label`, `help`, `placeholder`, `code` (monospaced) and `rows` (more than one: a text area) are how the inspector
    shows it; without a label it has no plain field there."""

    required: bool = False
    default: Any = None
    written: WriteCondition = WriteCondition.UNLESS_EMPTY
    remedy: str = ""
    fills: tuple[str, ...] = ()
    label: str = ""
    help: str = ""
    placeholder: str = ""
    code: bool = False
    rows: int = 0

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        """The value under `key`, which is there; faults are noted. `reader.values` has those read before it."""
        return reader.raw(key)

    def applies(self, reader: Reader, key: str) -> bool:
        """Return whether this object may have the key at all; `reader.values` holds the keys that were read
        earlier."""
        return True

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        """Return the value that the absence of `key` means."""
        if self.required:
            reader.note(key, "is missing", self.remedy)
        return self.default

    def write(self, value: Any) -> Any:
        """The value as the document says it."""
        return value

    def schema(self) -> Schema:
        return ANYTHING

    def definitions(self) -> Mapping[str, Schema]:
        """The schemas that its own refers to, by their names."""
        return {}


def declared_field(field: Field, *, required: bool = False, kw_only: bool = False) -> Any:
    """Return a dataclass attribute with its declaration. `required`: the constructor needs the value."""
    metadata = {FIELD: field}
    if required:
        return dataclasses.field(metadata=metadata, kw_only=kw_only)
    if isinstance(field.default, dict):
        return dataclasses.field(default_factory=partial(dict, field.default), metadata=metadata)
    return dataclasses.field(default=field.default, metadata=metadata)
