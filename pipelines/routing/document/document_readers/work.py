"""Work of a station, read by its kind."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import NOWHERE
from pipelines.routing.document.kinds import KINDS


def read_work(reader: Reader) -> dict[str, Any]:
    """The keys of the kinds that exist are checked; other kinds keep theirs as they are."""
    kind = reader.text("kind", required=True, longest=64)
    known = KINDS.get(kind)
    if known is None:
        return reader.given
    known.record.read(reader, NOWHERE)
    return reader.given
