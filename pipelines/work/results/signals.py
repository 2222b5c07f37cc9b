"""Signals that a command writes while it works: `{"flux:signal": {…}}`, a line of standard output (law §5 step 3,
dialects D8 to D14, D20).

Only at the start of a line (house §4): a line of its own, or a line of what a tool gave back inside a line of
stream-json (`tool_result`, `tool_use_result.stdout`). What is no signal is plain log. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.routing.basics.outcome import is_signal
from pipelines.work.results.strict_json import Unreadable, parse_storable_json

Signal = dict[str, Any]

LONGEST_LINE = 1024 * 1024
# Bytes of a line that is too long: enough to see whether it began as a signal
BEGINNING = 100
MOST = 100
_ALONE = re.compile(r'\{\s*"flux:signal"')
# A line of stream-json that could hold one: looked at before it is parsed, as most lines are no such thing.
_INSIDE = "flux:signal"


def is_valid(signal: Mapping[str, Any]) -> bool:
    """Return whether the signal's verdict is one that routes; any other is recorded and ignored."""
    return is_signal(signal.get("verdict"))


class SignalReader:
    """Cuts a stream of bytes into lines and answers the signals in them. A line above LONGEST_LINE bytes is none.

    `unread`: how many lines began as a signal and could not be read."""

    def __init__(self) -> None:
        self.unread = 0
        self._line = bytearray()
        self._beginning = ""
        self._too_long = False

    def feed(self, data: bytes) -> list[Signal]:
        """The signals of the lines that `data` completes."""
        *lines, rest = data.split(b"\n")
        signals: list[Signal] = []
        for line in lines:
            self._add(line)
            signals += self.end()
        self._add(rest)
        return signals

    def end(self) -> list[Signal]:
        """The signals of the line so far, which ends here."""
        line, self._line = bytes(self._line), bytearray()
        was_too_long, self._too_long = self._too_long, False
        text = self._beginning if was_too_long else line.decode(errors="replace")
        signals = [] if was_too_long else signals_in(text)
        self.unread += not signals and _ALONE.match(text) is not None
        return signals

    def _add(self, data: bytes) -> None:
        if len(self._line) + len(data) > LONGEST_LINE:
            if not self._too_long:
                self._beginning = (self._line + data[:BEGINNING])[:BEGINNING].decode(errors="replace")
            self._line, self._too_long = bytearray(), True
        if not self._too_long:
            self._line += data


def signals_in(line: str) -> list[Signal]:
    """The signals of one line: one at most, but for what tools gave back."""
    if _ALONE.match(line):
        return list(_signal_of_line(line))
    if not line.startswith("{") or _INSIDE not in line:
        return []
    try:
        message = parse_storable_json(line, "stream-json")
    except Unreadable:
        return []
    texts = dict.fromkeys(_tool_texts(message))
    return list(
        _unique_signals(
            signal for text in texts for piece in text.split("\n") for signal in _signal_of_line(piece)
        )
    )


def _signal_of_line(line: str) -> Iterator[Signal]:
    if not _ALONE.match(line):
        return
    try:
        value = parse_storable_json(line.strip(), "signal")
    except Unreadable:
        return
    signal = value.get("flux:signal")
    if isinstance(signal, dict):
        yield normalized_signal(signal)


def normalized_signal(signal: Signal) -> Signal:
    """A valid signal whose reason is no text, or whose meta is no object, counts without them."""
    if not is_valid(signal):
        return signal
    kinds = {"reason": str, "meta": dict}
    return {key: value for key, value in signal.items() if type(value) is kinds.get(key, type(value))}


def _unique_signals(signals: Iterator[Signal]) -> Iterator[Signal]:
    """A line names what a tool gave back twice: as the model sees it and as the program got it."""
    yielded: list[Signal] = []
    for signal in signals:
        if signal not in yielded:
            yielded.append(signal)
            yield signal


def _tool_texts(message: Mapping[str, Any]) -> Iterator[str]:
    """The texts that tools gave back in one message of stream-json."""
    result = message.get("tool_use_result")
    if isinstance(result, str):
        yield result
    elif isinstance(result, dict) and isinstance(result.get("stdout"), str):
        yield result["stdout"]
    inner = message.get("message")
    content = inner.get("content") if isinstance(inner, dict) else None
    for block in (message, *(content if isinstance(content, list) else ())):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from _block_texts(block.get("content"))


def _block_texts(content: Any) -> Iterator[str]:
    """Yield the texts of one block: a text, or a list of `{type: text, text}`."""
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


# What a signal says besides its verdict (dialect D)

_USAGE = ("cost_usd", "tokens_in", "tokens_out")


def outcome_fields(signal: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the outcome that a signal carries: summary, and usage. No text, or no number from 0 on, is left out."""
    fields: dict[str, Any] = {}
    if isinstance(signal.get("summary"), str) and signal["summary"].strip():
        fields["summary"] = signal["summary"]
    usage = {key: signal[key] for key in _USAGE if type(signal.get(key)) in (int, float) and signal[key] >= 0}
    return {**fields, "usage": usage} if usage else fields
