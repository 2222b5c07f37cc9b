"""Drawn outputs and logs through the readers: nothing that was there is lost without a word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from pipelines.routing.basics.values import MISSING
from pipelines.work.agents.line_feed import LineFeed, last_message_output
from pipelines.work.agents.streams import STREAMS
from pipelines.work.handlers.chat import reply_output
from pipelines.work.language_models.completion import StreamedAnswer
from pipelines.work.results.lines import LineCutter
from pipelines.work.results.output import TextOutput, output_in_text
from pipelines.work.results.text import Masker, escaped_for_storage

KEYS = ("plan", "risk")
FEW, MANY = 400, 10_000
SIGNAL = '{"flux:signal": {"verdict": "nothing"}}'
PROSE = (
    "All done.",
    "The plan is fine, the risk is low.",
    "[12:30] began",
    "{ braces }",
    "",
    "```python\nx = 1\n```",
)


class Text:
    """A text of drawn pieces. `marks`: those of its output, each of which has to be found or named; `good`: the values
    of whole blocks with a wanted key, in their order, where nothing in between is broken."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.marks: list[str] = []
        self.good: list[Any] = []
        self.broken = self.bare = False
        parts = [self._part() for _ in range(draw.randint(1, 4))]
        if draw.random() < 0.15:
            self.marks, self.broken, self.bare = [], False, True
            parts = [self._value()]
        self.text = draw.choice(["\n", "\n\n", "\r\n"]).join(parts)

    def _value(self) -> str:
        mark = f"m{self.draw.randrange(10**9)}"
        self.marks.append(mark)
        value = {self.draw.choice(KEYS): self.draw.choice([mark, [mark], {"deep": mark}])}
        if self.draw.random() < 0.2:
            value["other"] = self.draw.choice([1, "x", None])
        self.good.append(value)
        return json.dumps(value, indent=self.draw.choice([None, 1]))

    def _part(self) -> str:
        draw = self.draw
        kind = draw.choice(["prose", "prose", "signal", "example", "block", "block", "block", *FAULTS])
        if kind == "prose":
            return draw.choice(PROSE)
        if kind == "signal":
            return SIGNAL
        if kind == "example":
            return '```json\n{"plan": "…"}\n```'
        value = self._value()
        if kind == "block":
            return f"```json\n{value}\n```"
        self.broken = True
        return FAULTS[kind](value)


FAULTS = {
    "comma": lambda value: f"```json\n{value[:-1]},}}\n```",
    "cut": lambda value: f"```json\n{value}",
    "half": lambda value: f"```json\n{value[: len(value) - 3]}\n```",
    "capital": lambda value: f"```JSON\n{value}\n```",
    "tilde": lambda value: f"~~~json\n{value}\n~~~",
    "no language": lambda value: f"```\n{value}\n```",
    "same line": lambda value: f"```json\n{value}```",
    "quoted": lambda value: "\n".join(f"> {line}" for line in f"```json\n{value}\n```".split("\n")),
    "bare": lambda value: f"Here it is: {value}",
    "twice": lambda value: f'```json\n{{"plan": 1, {value[1:-1]}, "plan": 2}}\n```',
    "not a number": lambda value: f'```json\n{{"plan": NaN, {value[1:]}\n```',
}


def hold(found: TextOutput, text: Text, why: str) -> None:
    """Every mark is in the output, or a word says that something of it is not."""
    value = "" if found.value is MISSING else json.dumps(found.value)
    lost = [mark for mark in text.marks if mark not in value]
    assert not lost or found.unreadable or found.remarks, (why, text.text, found)
    if not text.marks:
        assert not found.unreadable, (why, text.text, found)
    if text.good and not text.broken and not text.bare:
        first = {key: text.good[0][key] for key in KEYS if key in text.good[0]}
        assert found.value == first, (why, text.text, found)


def agent_lines(draw: Random, dialect: str, messages: list[str]) -> Iterator[dict[str, Any]]:
    """What a program of this dialect writes for these messages."""
    for words in messages:
        if dialect == "codex":
            yield {"type": "item.completed", "item": {"type": "agent_message", "text": words}}
        elif dialect == "claude":
            yield {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
        elif dialect == "opencode":
            yield {"type": "text", "part": {"text": words}}
        else:
            at = sorted(draw.randint(0, len(words)) for _ in range(3))
            pieces = [words[start:end] for start, end in zip([0, *at], [*at, len(words)], strict=True)]
            for index, piece in enumerate(pieces):
                yield {
                    "type": "message",
                    "role": "assistant",
                    "content": piece,
                    **({"delta": True} if index else {}),
                }
            yield {"type": "tool_use", "tool_name": "x", "tool_id": "t"}
    if dialect == "claude" and messages:
        yield {"type": "result", "subtype": "success", "result": messages[-1]}


def through_an_agent(draw: Random, text: Text) -> TextOutput:
    """As its last message, or one before; with a line that was cut, in some."""
    dialect = draw.choice(["codex", "claude", "opencode", "gemini"])
    stream = STREAMS[dialect](50)
    feed = LineFeed(stream)
    before = ["Looking."] * draw.randint(0, 1)
    after = ["Done."] if draw.random() < 0.2 else []
    padded = text.text if draw.random() < 0.9 else "word " * 4_000 + "\n" + text.text
    lines = [json.dumps(line) for line in agent_lines(draw, dialect, [*before, padded, *after])]
    data = "\n".join(lines) if draw.random() < 0.9 else "\n".join([*lines, '{"type": "item.compl'])
    raw = data.encode()
    while raw:
        size = draw.randint(1, 4_000)
        feed.feed_bytes(raw[:size])
        raw = raw[size:]
    feed.feed_bytes(b"", final=True)
    found = last_message_output(stream, KEYS, "")
    # What stands before the last message is another text: what is owed is a word for its block.
    if after and text.good and not text.broken and not text.bare:
        assert found.unreadable, (dialect, text.text)
    return (
        found
        if not after and padded is text.text and stream.lost == ""
        else TextOutput(MISSING, "not compared")
    )


def through_a_model(draw: Random, text: Text) -> TextOutput:
    answer = StreamedAnswer()
    words = text.text
    while words:
        size = draw.randint(1, 40)
        answer.add_chunk_and_return_text({"choices": [{"delta": {"content": words[:size]}}]})
        words = words[size:]
    answer.add_chunk_and_return_text({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return reply_output(answer.reply(), KEYS)


def outputs(seeds: range) -> Counter[str]:
    counted: Counter[str] = Counter()
    for seed in seeds:
        draw = Random(f"output {seed}")
        text = Text(draw)
        whole = output_in_text(text.text, KEYS)
        hold(whole, text, f"seed {seed}, text")
        hold(through_a_model(draw, text), text, f"seed {seed}, model")
        agent = through_an_agent(draw, text)
        if agent.unreadable != "not compared":
            hold(agent, text, f"seed {seed}, agent")
        cut = text.text[: draw.randint(0, len(text.text))]
        partly = output_in_text(cut, KEYS, cut="it was cut")
        assert partly.value is not MISSING or partly.unreadable, (seed, cut)
        counted["found"] += whole.value is not MISSING
        counted["named"] += bool(whole.unreadable)
        counted["nothing there"] += not text.marks
    return counted


def test_nothing_of_an_output_is_lost_without_a_word() -> None:
    counted = outputs(range(FEW))
    assert min(counted[kind] for kind in ("found", "named", "nothing there")) > FEW // 100, counted


@pytest.mark.soak
def test_nothing_of_ten_thousand_outputs_is_lost_without_a_word() -> None:
    outputs(range(MANY))


# Logs


PIECES = (
    "a",
    "word ",
    "10 %",
    "ü",
    "  ",
    "\t",
    "\b",
    "\b\b",
    "\r",
    "\r",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[2K",
    "\x1b[1m",
)
MOVES = ("\x1b[3G", "\x1b[2C", "\x1b[4D", "\x1b[0m", "\x1b]0;title\x07", "\x1b[?25h", "\x1b[2X")


class Screen:
    """One line of a terminal, a character at a time, by column."""

    def __init__(self) -> None:
        self.columns: dict[int, str] = {}
        self.at = 0
        self.overwritten = False

    def do(self, piece: str) -> None:
        number = (
            int("".join(letter for letter in piece if letter.isdigit()) or 0) if piece[0] == "\x1b" else 0
        )
        if piece == "\r":
            self.at = 0
        elif piece[0] == "\b":
            self.at = max(self.at - len(piece), 0)
        elif piece == "\t":
            self.at += 8 - self.at % 8
        elif piece[0] != "\x1b":
            for letter in piece:
                self.put(self.at, letter)
                self.at += 1
        elif piece[-1] in "GCD":
            self.at = max({"G": number - 1, "C": self.at + number, "D": self.at - number}[piece[-1]], 0)
        elif piece[-1] == "K":
            first, last = (0 if number else self.at), (self.at if number == 1 else 10_000)
            for column in [each for each in self.columns if first <= each <= last]:
                self.put(column, " ")
        elif piece[-1] == "X":
            for column in range(self.at, self.at + number):
                self.put(column, " ")

    def put(self, column: int, letter: str) -> None:
        old = self.columns.get(column, " ")
        self.overwritten |= old not in (" ", letter)
        self.columns[column] = letter

    @property
    def text(self) -> str:
        return "".join(self.columns.get(at, " ") for at in range(max(self.columns, default=-1) + 1)).rstrip(
            " "
        )


def logs(seeds: range) -> Counter[str]:
    counted: Counter[str] = Counter()
    for seed in seeds:
        draw = Random(f"log {seed}")
        wanted, data, overwritten = [], "", 0
        for _ in range(draw.randint(1, 4)):
            kinds = (*PIECES, *MOVES) if draw.random() < 0.7 else ("a", "word ", "\x00", "ü", "\x1f", "{")
            line = [draw.choice(kinds) for _ in range(draw.randint(0, 12))]
            screen = Screen()
            for piece in line:
                screen.do(piece)
            acts = any(piece[0] in "\b\r\x1b" for piece in line)
            wanted.append(screen.text if acts else "".join(line))
            overwritten += screen.overwritten
            data += "".join(line) + draw.choice(["\n", "\r\n"])
        raw, cutter, found = data.encode(), LineCutter(Masker(())), []
        while raw:
            size = draw.randint(1, 9)
            found += cutter.feed_and_return_whole_lines(raw[:size])
            raw = raw[size:]
        found += cutter.feed_and_return_whole_lines(b"", final=True)
        # A line on which nothing acts keeps its tabs and the blanks at its end.
        shown = [line.expandtabs().rstrip() for line in found]
        assert shown == [escaped_for_storage(line).expandtabs().rstrip() for line in wanted], (seed, data)
        # What was written over is lost to the log, as to whoever looks at a terminal: a word says so.
        assert cutter.overwritten == overwritten, (seed, data)
        counted["lines"] += len(found)
        counted["written over"] += overwritten
    return counted


def test_a_log_reads_as_a_terminal_would_show_it() -> None:
    assert logs(range(FEW))["written over"] > FEW // 10


@pytest.mark.soak
def test_ten_thousand_logs_read_as_a_terminal_would_show_them() -> None:
    logs(range(MANY))
