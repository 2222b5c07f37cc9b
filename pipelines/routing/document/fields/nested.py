"""Keys that hold an object, or a list of objects, with keys of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.fields.field import Around, Field
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.reading.names import note_twins
from pipelines.routing.document.reading.reader import Reader


@dataclass(frozen=True, kw_only=True)
class One(Field):
    """An object; where it is absent, `default`."""

    record: Record[Any] = field(kw_only=False)
    default: Any = None

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        return reader.one(key, lambda inner: self.record.read(inner, around))

    def absent(self, reader: Reader, key: str, around: Around) -> Any:
        return dict(self.default) if isinstance(self.default, dict) else self.default

    def write(self, value: Any) -> Any:
        return None if value is None else self.record.write(value)

    def schema(self) -> Schema:
        return self.record.reference()

    def definitions(self) -> Mapping[str, Schema]:
        return self.record.definitions()


@dataclass(frozen=True, kw_only=True)
class Each(Field):
    """A list of objects. `unique`: the key that no two of them share; `what` a sentence calls it."""

    record: Record[Any] = field(kw_only=False)
    default: tuple[Any, ...] = ()
    unique: str = ""
    what: str = ""
    least: int = 0

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        records = reader.each(key, lambda inner: self.record.read(inner, around))
        if self.unique:
            note_twins(reader, key, [getattr(record, self.unique) for record in records], self.what)
        return records

    def write(self, value: Any) -> Any:
        return [self.record.write(record) for record in value]

    def schema(self) -> Schema:
        least = {"minItems": self.least} if self.least else {}
        return schema_parts.listed(self.record.reference(), **least)

    def definitions(self) -> Mapping[str, Schema]:
        return self.record.definitions()
