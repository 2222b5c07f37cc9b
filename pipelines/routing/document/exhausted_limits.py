"""Result of an exhausted limit for a task, as a rule or a named budget declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics.schema_parts import SOME_TEXT, Schema, enum_schema, object_schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import Names, unknown_reference_message
from pipelines.routing.document.document_readers.reader import Reader, expected_hint
from pipelines.routing.document.fields.field import Field, ReadContext

EXHAUSTED: Final = ("fail", "stuck", "escalate")


@dataclass(frozen=True, kw_only=True)
class ExhaustedAction(Field):
    """Action at an exhausted limit: one of the words, or `{to: station or end}`, where the second attribute
    is that key."""

    fills: tuple[str, ...] = ("on_exhausted", "exhausted_to")

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        if type(value) is dict:
            return None, _read_target_or_none(
                Reader(value, reader.path_of(key), reader.problems), context.names
            )
        if type(value) is not str or value not in EXHAUSTED:
            reader.note(key, _("has to be %(known)s or {to: station or end}", known=", ".join(EXHAUSTED)))
            return None, None
        return value, None

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return None, None

    def write(self, value: Any) -> Any:
        word, target = value
        return word if target is None else {"to": target}

    def schema(self) -> Schema:
        return {"anyOf": [enum_schema(EXHAUSTED), object_schema(("to",), to=SOME_TEXT)]}


def _read_target_or_none(reader: Reader, names: Names) -> str | None:
    target = reader.text("to", required=True)
    if target and target not in names.places:
        message = unknown_reference_message("station or end", target)
        reader.note("to", message, expected_hint(target, names.places))
    reader.note_unknown_keys()
    return target or None
