"""What a station does, read by its kind."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.networks import EGRESS, NONE, OPEN
from pipelines.routing.document.reading.reader import Reader


def read_work(reader: Reader) -> dict[str, Any]:
    """The keys of the kinds that exist are checked; other kinds keep theirs as they are."""
    kind = reader.text("kind", required=True, longest=64)
    known = KINDS.get(kind)
    if known is None:
        return reader.given
    read_network(reader)
    known.read(reader)
    reader.done()
    return reader.given


def read_network(reader: Reader) -> None:
    value = reader.raw("network")
    if type(value) is dict:
        hosts = Reader(value, reader.at("network"), reader.problems)
        if not hosts.texts(EGRESS):
            hosts.note(EGRESS, "names no host")
        hosts.done()
    elif reader.has("network") and value not in (NONE, OPEN):
        reader.note("network", f"has to be {NONE} or {OPEN}")
