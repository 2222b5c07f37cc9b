"""The lines of an agent's stream, cut from what its program writes, and the output in what it said last."""

from __future__ import annotations

import codecs
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pipelines.routing.basics.values import MISSING
from pipelines.work.agents.stream import Stream
from pipelines.work.results import output

LONGEST_LINE: Final = 4 * 1024 * 1024


def last_message_output(stream: Stream, keys: Sequence[str], prompt: str) -> output.TextOutput:
    """The output in what an agent said last, and why there is none although it wrote some."""
    cut = f"its last message is longer than {len(stream.claim)} characters, and the rest was not searched"
    text_output = output.output_in_text(stream.claim, keys, prompt, cut if stream.claim_cut else stream.lost)
    if not keys or text_output.value is not MISSING or text_output.unreadable:
        return text_output
    # Not taken for the output: what an agent does after it may have made it untrue
    if output.output_in_text(stream.earlier_block, keys, prompt).value is not MISSING:
        return replace(
            text_output, unreadable="a block with output keys stands in a message before its last one"
        )
    cut = "a message before its last one is too long to be kept, and was searched in part"
    return replace(text_output, unreadable=cut) if stream.earlier_cut else text_output


class LineFeed:
    """Cuts bytes into the lines of a stream. One that is longer than LONGEST_LINE is not read."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._began = stream, time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._size = 0
        self._number = 0

    def feed_bytes(self, data: bytes, *, final: bool = False) -> None:
        *lines, rest = self._decoder.decode(data, final).split("\n")
        for line in lines:
            self._add(line)
            self._end()
        self._add(rest)
        if final and self._size:
            self._end()

    def _add(self, part: str) -> None:
        self._size += len(part)
        # What is longer is counted, and not held.
        if part and self._size <= LONGEST_LINE:
            self._rest.append(part)

    def _end(self) -> None:
        line = "".join(self._rest) if self._size <= LONGEST_LINE else ""
        if self._size > LONGEST_LINE:
            self._stream.record_unreadable(
                f"line {self._number + 1} of its stream is longer than {LONGEST_LINE} characters"
            )
        self._rest, self._size = [], 0
        self._number += 1
        self._stream.feed(line.rstrip("\r"), time.monotonic() - self._began, self._number)
