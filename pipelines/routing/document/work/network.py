"""What the programs of a station may reach: a key of every kind of work, since programs also run at stations of other
kinds, as hooks in conditions and tools of gates (house §5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.schema_parts import SOME_TEXT, Schema, listed, record, words
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.fields.field import Around, Field
from pipelines.routing.document.reading.reader import Reader

NONE, OPEN = "none", "open"
EGRESS = "egress"


@dataclass(frozen=True, kw_only=True)
class Network(Field):
    """None, open, or a list of hosts."""

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        value = reader.raw(key)
        if type(value) is dict:
            hosts = Reader(value, reader.at(key), reader.problems)
            if not hosts.texts(EGRESS):
                hosts.note(EGRESS, _("names no host"))
            hosts.done()
        elif value not in (NONE, OPEN):
            reader.note(key, _("has to be %(none)s or %(open)s", none=NONE, open=OPEN))
        return value

    def schema(self) -> Schema:
        hosts = record((EGRESS,), **{EGRESS: listed(SOME_TEXT, minItems=1)})
        about = "What the programs of the station may reach; none where nothing is said."
        return {"anyOf": [words((NONE, OPEN)), hosts], "description": about}
