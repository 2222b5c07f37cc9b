"""Places to which a signal `already_complete` may lead: a list of stations and ends, or all of them (law §14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.document_readers.names import note_unknown_reference
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import ReadContext, WriteCondition
from pipelines.routing.document.fields.plain_fields import Texts

ALL: Final = "all"


@dataclass(frozen=True, kw_only=True)
class Jumps(Texts):
    """None where the line says nothing; what that means, the revision and the preset say (`Line.jump_targets`)."""

    default: Any = None
    written: WriteCondition = WriteCondition.UNLESS_NONE

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        raw = reader.raw(key)
        if raw == ALL:
            return ALL
        if type(raw) is not list:
            reader.note(key, "has to be a list of stations and ends, or the word all")
            return None
        places = reader.texts(key)
        for place in places:
            note_unknown_reference(reader, key, place, context.names.places, "station or end")
        return tuple(dict.fromkeys(places))

    def write(self, value: Any) -> Any:
        return value if value is None or value == ALL else list(value)

    def schema(self) -> Schema:
        return {"anyOf": [{"const": ALL}, super().schema()]}
