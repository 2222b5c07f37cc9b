"""The steps of a job, from its stored log. A line that was too long for the log stands there in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from pipelines.routing.document.agents import Preset
from pipelines.work.agents.json_values import parsed_json_object_or_none
from pipelines.work.agents.stream import Stream
from pipelines.work.agents.streams import STREAMS

MOST_PIECES = 64


class StoredLine(Protocol):
    @property
    def number(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def text(self) -> str: ...


def read_stream(preset: Preset, lines: Iterable[StoredLine], piece: int) -> Stream:
    """:param piece: the length at which the log cuts a line"""
    stream = STREAMS[preset.dialect]()
    for line, at, number in join_pieces(lines, piece):
        stream.feed(line, at, number)
    return stream


def join_pieces(lines: Iterable[StoredLine], piece: int) -> Iterator[tuple[str, float, int]]:
    """Yield (line, seconds, number) of the lines as they were written, joining the pieces into which the log
    cut long JSON lines."""
    pieces: list[str] = []
    at, number = 0.0, 0
    for line in lines:
        if pieces and len(pieces) < MOST_PIECES:
            pieces.append(line.text)
            # A piece that is not full is the last one; a full one may be it, too.
            if len(line.text) < piece or parsed_json_object_or_none("".join(pieces)) is not None:
                yield "".join(pieces), at, number
                pieces = []
            continue
        # Only JSON is put together: of log every piece is a line.
        if (
            len(line.text) >= piece
            and line.text.startswith("{")
            and parsed_json_object_or_none(line.text) is None
        ):
            yield from (("".join(pieces), at, number),) if pieces else ()
            pieces, at, number = [line.text], line.seconds, line.number
            continue
        yield from (("".join(pieces), at, number),) if pieces else ()
        pieces = []
        yield line.text, line.seconds, line.number
    if pieces:
        yield "".join(pieces), at, number
