"""Keys that hold an object, or a list of objects, with keys of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.document_readers.names import note_duplicates
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import Field, ReadContext
from pipelines.routing.document.fields.record import Record


@dataclass(frozen=True, kw_only=True)
class ObjectField(Field):
    """An object; where it is absent, `default`."""

    record: Record[Any] = field(kw_only=False)
    default: Any = None

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.read_object_or_none(key, lambda inner: self.record.read(inner, context))

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return dict(self.default) if isinstance(self.default, dict) else self.default

    def write(self, value: Any) -> Any:
        return None if value is None else self.record.write(value)

    def schema(self) -> Schema:
        return self.record.reference()

    def definitions(self) -> Mapping[str, Schema]:
        return self.record.definitions()


@dataclass(frozen=True, kw_only=True)
class ListField(Field):
    """A list of objects. `unique`: the key that no two of them share; `what` a sentence calls it."""

    record: Record[Any] = field(kw_only=False)
    default: tuple[Any, ...] = ()
    unique: str = ""
    what: str = ""
    least: int = 0

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        records = reader.read_list(key, lambda inner: self.record.read(inner, context))
        if self.unique:
            note_duplicates(reader, key, [getattr(record, self.unique) for record in records], self.what)
        return records

    def write(self, value: Any) -> Any:
        return [self.record.write(record) for record in value]

    def schema(self) -> Schema:
        least = {"minItems": self.least} if self.least else {}
        return schema_parts.list_schema(self.record.reference(), **least)

    def definitions(self) -> Mapping[str, Schema]:
        return self.record.definitions()
