"""The output in the text of a command (law §2). Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.facts import OUTPUT
from pipelines.routing.basics.values import MISSING
from pipelines.work.results.strict_json import Unreadable, parse_storable_json
from pipelines.work.results.text import escaped_for_storage

# A block between ```json and ```, each on a line of its own
FENCE = re.compile(r"^[ \t]*```json[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$", re.MULTILINE | re.DOTALL)
FENCE_END = re.compile(r"^[ \t]*```[ \t]*\r?$", re.MULTILINE)
# What is meant as such a block, however its fence is written.
LOOSE = re.compile(r"^[ \t>*+-]*(?:`{3,}|~{3,})[ \t]*json", re.MULTILINE | re.IGNORECASE)
# How an object or a list begins; a log that begins with a time in brackets is none.
BEGINS = re.compile(r"\s*(?:\{\s*[\"}']|\[\s*[\[{\"\]])")
SIGNAL_LINE = re.compile(r'^\{[ \t]*"flux:signal".*$', re.MULTILINE)
LONGEST_REASON = 500
MOST_FAULTS = 5

PLACEHOLDER = "…"
"""What stands for each value in the example of the section "Expected outputs" of a prompt."""


def example_output(keys: Sequence[str]) -> dict[str, str]:
    """The output that a prompt shows as an example. An agent that echoes it has not answered."""
    return dict.fromkeys(keys, PLACEHOLDER)


@dataclass(frozen=True)
class TextOutput:
    """Output that a text holds: `value`, MISSING where there is none. `unreadable`: why output that is there was not
    read, "" where nothing is lost. `remarks`: what else of it was passed over by the law, for the log. `is_signal`: the
    value is the line of a signal."""

    value: Any = MISSING
    unreadable: str = ""
    remarks: tuple[str, ...] = ()
    is_signal: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """Members of the group `output` (law §13)."""
        reason = {"unreadable": shortened_reason(self.unreadable)} if self.unreadable else {}
        return {**reason, **({"signal": True} if self.is_signal else {})}

    def outcome_with_output(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """The outcome with the output, where there is one, and with what was observed of it."""
        there = {} if self.value is MISSING else {"output": self.value}
        return outcome_with_output_facts({**outcome, **there}, self.facts)


def outcome_with_output_facts(outcome: dict[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    """An outcome with these members of the group `output` among its facts."""
    if not members:
        return outcome
    facts = outcome.get("facts", {})
    return {**outcome, "facts": {**facts, OUTPUT: {**facts.get(OUTPUT, {}), **members}}}


def shortened_reason(reason: str) -> str:
    """A text as a fact has room for it."""
    reason = escaped_for_storage(reason).strip()
    return reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} …"


def output_in_text(text: str, keys: Sequence[str], prompt: str = "", cut: str = "") -> TextOutput:
    """The first fenced json block that holds a wanted key, else the whole text if it is JSON.

    Without wanted keys the first block that parses counts, unfiltered. What repeats the `prompt` word for word, or the
    example in it, is not output. `cut`: why the text is not whole, "" where it is."""
    text = text_without_prompt_echo(text, prompt)
    blocks = Blocks.blocks_in_text(text, keys)
    if blocks.value is not MISSING:
        outside = wanted_keys_text(_text_without_json_blocks(text), keys)
        more = (f"{outside} stands outside of the block that counts, and was not read.",) if outside else ()
        return TextOutput(
            wanted_keys_or_all(blocks.value, keys),
            blocks.faults,
            (*blocks.remarks_on_other_blocks(keys), *more),
        )
    try:
        value = parse_storable_json(text, "output")
    except Unreadable as error:
        return TextOutput(
            MISSING,
            blocks.faults or _lost_output_reason(text, keys, str(error), cut),
            blocks.remarks_on_other_blocks(keys),
        )
    if keys and is_example(value):
        return TextOutput()
    # A beginning that is JSON of itself, as of a number, may be another value than the whole.
    return TextOutput(
        wanted_keys_or_all(value, keys),
        cut,
        remark_on_unwanted_keys(value, keys),
        is_signal=is_signal_line(value),
    )


def output_with_remark_on_replaced_bytes(result: TextOutput, data: bytes | bytearray) -> TextOutput:
    """Add a word where bytes of the output that are no UTF-8 were replaced."""
    try:
        data.decode()
    except UnicodeDecodeError:
        # Only where it is in the output itself: around it any bytes may stand
        if result.value is not MISSING and "\ufffd" in jsontext.dumps(result.value, ascii_only=False):
            why = "it holds bytes that are no UTF-8, which were replaced"
            return replace(result, unreadable="; ".join(filter(None, (result.unreadable, why))))
    return result


@dataclass(frozen=True)
class Blocks:
    """The fenced json blocks of a text. `value`: of the one that counts, MISSING where none does; `faults`: those
    before it that could not be read; `unwanted`, `after`: how many hold none of the wanted keys, or came after it."""

    value: Any
    faults: str
    unwanted: int
    after: int

    @classmethod
    def blocks_in_text(cls, text: str, keys: Sequence[str]) -> Blocks:
        faults: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        unwanted = end = 0
        value: Any = MISSING
        for match in FENCE.finditer(text, 0, _last_end(text)):
            starts.append(match.start())
            ends.append(match.end())
            try:
                block = parse_storable_json(match.group(1), "output")
            except Unreadable as error:
                if len(faults) < MOST_FAULTS:
                    faults.append(_block_fault(text, match.start(), f"cannot be read: {error}"))
                continue
            holds = isinstance(block, dict) and any(key in block for key in keys) and not is_example(block)
            if not keys or holds:
                value, end = block, match.end()
                break
            unwanted += not is_example(block)
        limit = end or len(text)
        for match in LOOSE.finditer(text, 0, limit):
            block_before = bisect_right(starts, match.start()) - 1
            if len(faults) < MOST_FAULTS and (block_before < 0 or match.start() >= ends[block_before]):
                why = "is not one that is read: ```json and ``` stand on lines of their own"
                faults.append(_block_fault(text, match.start(), why))
        after = len(LOOSE.findall(text, end)) if end else 0
        return cls(value, "; ".join(faults), unwanted, after)

    def remarks_on_other_blocks(self, keys: Sequence[str]) -> tuple[str, ...]:
        passed = [f"{self.unwanted} json blocks hold none of the output keys."] if self.unwanted else []
        later = [f"{self.after} json blocks after the one that counts were not read."] if self.after else []
        return (*passed, *later, *remark_on_unwanted_keys(self.value, keys))


def _last_end(text: str) -> int:
    """Find where the last block may end. No block is searched beyond: each that begins there would be, to the end."""
    # Each block that begins behind it would be searched to the end of the text
    return max((match.end() for match in FENCE_END.finditer(text)), default=0)


def _text_without_json_blocks(text: str, replacement: str | Callable[[re.Match[str]], str] = "") -> str:
    end = _last_end(text)
    return FENCE.sub(replacement, text[:end]) + text[end:]


def remark_on_unwanted_keys(value: Any, keys: Sequence[str]) -> tuple[str, ...]:
    """Keys of an output that its station did not ask for, as a remark."""
    others = [str(key) for key in value if key not in keys] if keys and isinstance(value, dict) else []
    return (
        (f"Not among the output keys, and left out: {shortened_reason(', '.join(others))}",) if others else ()
    )


def _block_fault(text: str, start: int, fault: str) -> str:
    line = text.count("\n", 0, start) + 1
    return f"the json block in line {line} {fault}"


def _lost_output_reason(text: str, keys: Sequence[str], fault: str, cut: str) -> str:
    """Say why a text without a block that counts may hold output all the same."""
    if cut:
        return cut
    rest = SIGNAL_LINE.sub("", _text_without_json_blocks(text))
    if BEGINS.match(rest):
        return f"the text begins as JSON and is none: {fault}"
    listed = wanted_keys_text(rest, keys)
    return f"{listed} stands in the text, and in no json block" if listed else ""


def wanted_keys_text(text: str, keys: Sequence[str]) -> str:
    """List the wanted keys that stand in a text as JSON writes them."""
    return ", ".join(key for key in keys if re.search(rf"[\"']{re.escape(key)}[\"']\s*:", text))


def is_signal_line(value: Any) -> bool:
    """Tell whether output is the line of a signal (law §2)."""
    return isinstance(value, dict) and value.keys() == {"flux:signal"}


def besides_output_or_empty(text: str, keys: Sequence[str], output: Any) -> str:
    """Return what an agent said around its output. Where it said nothing else, the text that the output is, if it is
    one."""
    if not keys or not isinstance(output, dict):
        return text
    remarks = _text_without_json_blocks(plain_lines(text), partial(_remaining_block_or_empty, keys)).strip()
    if remarks and not _is_json(remarks):
        return re.sub(r"\n{3,}", "\n\n", remarks)
    values = [value for value in output.values() if isinstance(value, str)]
    return values[0].strip() if len(values) == len(output) == 1 else ""


def _remaining_block_or_empty(keys: Sequence[str], match: re.Match[str]) -> str:
    """A block that holds none of the wanted keys is part of what it said."""
    try:
        value = parse_storable_json(match.group(1), "output")
    except Unreadable:
        return match.group()
    return "" if isinstance(value, dict) and any(key in value for key in keys) else match.group()


def _is_json(text: str) -> bool:
    try:
        parse_storable_json(text, "output")
    except Unreadable:
        return False
    return True


def text_without_prompt_echo(text: str, prompt: str) -> str:
    """The text with every verbatim repetition taken out of a prompt that holds json blocks itself: an example, or what
    stations before this one put out. Line ends do not count."""
    echoed = plain_lines(prompt).strip()
    return plain_lines(text).replace(echoed, "") if FENCE.search(echoed, 0, _last_end(echoed)) else text


def plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def is_example(value: Any) -> bool:
    """Tell whether every value still is the placeholder."""
    return isinstance(value, dict) and bool(value) and all(entry == PLACEHOLDER for entry in value.values())


def wanted_keys_or_all(value: Any, keys: Sequence[str]) -> Any:
    """Return only the wanted keys of an object; anything else as it is."""
    if not keys or not isinstance(value, dict):
        return value
    return {key: value[key] for key in keys if key in value}
