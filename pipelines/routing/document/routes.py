"""Words of the document that may also name a station: `route:<station>`, `station:<station>`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.routing.basics.schema_parts import Schema, enum_schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import note_unknown_reference
from pipelines.routing.document.document_readers.reader import Reader, expected_hint, unknown_word_message
from pipelines.routing.document.fields.field import Field, ReadContext

ON_REJECT: Final = {
    "fail": "The task fails",
    "rework": "It runs again with the reason",
    "reviewer_chooses": "Whoever rejects chooses",
}
"""What may follow a rejection."""


@dataclass(frozen=True, kw_only=True)
class Route(Field):
    """Route: one of `choices`, or `prefix`, a colon and a station; the default where it is none of them."""

    choices: Mapping[str, str] = field(kw_only=False)
    prefix: str = field(kw_only=False)

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.text(key)
        start, colon, station = value.partition(":")
        if start == self.prefix and colon:
            if not station:
                reader.note(key, _("%(prefix)s: names no station", prefix=self.prefix))
            note_unknown_reference(reader, key, station, context.names.stations, "station")
            return value
        if value in self.choices:
            return value
        if type(reader.given[key]) is str:
            known = {**self.choices, f"{self.prefix}:<station>": "Go to a station"}
            reader.note(key, unknown_word_message(value), expected_hint(value, known))
        return self.absent_value(reader, key, context)

    def schema(self) -> Schema:
        return {"anyOf": [enum_schema(self.choices), {"type": "string", "pattern": f"^{self.prefix}:.+$"}]}
