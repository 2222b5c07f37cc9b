"""What a command hands over: the result document, the output in its text, its signals (semantics §2). Pure, but for
reading the document's file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import Any

from pipelines.handlers.base import Attempt, Outcome
from pipelines.handlers.files import Refused, opened
from pipelines.routing import jsontext, values
from pipelines.routing.outcome import OutcomeError, read_outcome
from pipelines.routing.problems import Malformed

# Keys of the result document that are fields of the outcome under the same name.
FIELDS = frozenset(
    {"output", "verdict", "eval", "failure_type", "blockers", "artifacts", "signals", "summary", "comment"}
    | {"feedback", "handoff", "usage"}
)
SIGNAL_FIELDS = frozenset({"signal_reason", "signal_meta"})
SIGNALS = ("proceed", "hold", "rework", "abort")
FENCE = re.compile(r"^[ \t]*```json[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$", re.MULTILINE | re.DOTALL)
SIGNAL_LINE = re.compile(r'\{\s*"flux:signal"')


@dataclass(frozen=True)
class Document:
    """The result document as found. `error` says why one that was there does not count."""

    present: bool = False
    fields: Outcome = field(default_factory=dict)
    error: str = ""
    # Whether it says more than an outcome has room for: then it is kept as it is (semantics §2).
    more: bool = False


class Unreadable(Exception):
    """The text is not the JSON that was expected."""


def parse(text: str, path: str) -> Any:
    """JSON as strict as for any client. :raises Unreadable: with the place"""
    try:
        value = jsontext.loads(text)
        values.check(value, path)
    except jsontext.JsonTextError as error:
        raise Unreadable(f"{path}: {error}") from error
    except Malformed as error:
        raise Unreadable(str(error)) from error
    return _plain(value, path)


def _plain(value: Any, path: str) -> Any:
    """Numbers of more digits than a double has become doubles: what the database's JSON gives back."""
    if isinstance(value, Decimal):
        if not isfinite(float(value)):
            raise Unreadable(f"{path}: the number {str(value)[:40]} is out of range")
        return float(value)
    if isinstance(value, list):
        return [_plain(member, path) for member in value]
    if isinstance(value, dict):
        return {key: _plain(member, path) for key, member in value.items()}
    return value


def read_document(attempt: Attempt, limit: int) -> Document:
    """The document that the work wrote, `limit` bytes at most."""
    relative = attempt.below(attempt.result)
    if not attempt.result.is_symlink() and not attempt.result.exists():
        return Document()
    try:
        with opened(attempt.root, relative) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise Unreadable(f"result document: larger than {limit} bytes")
        value = parse(data.decode(), "result document")
        if not isinstance(value, dict):
            raise Unreadable("result document: has to be one JSON object")
        fields = document_fields(value)
        read_outcome({"exit_code": 0, **fields}, "result document")
    except (Refused, Unreadable, UnicodeDecodeError, OutcomeError) as error:
        return Document(True, error=str(error))
    return Document(True, fields, more=bool(value.keys() - FIELDS - SIGNAL_FIELDS))


def document_fields(document: dict[str, Any]) -> Outcome:
    """Outcome fields of a result document; a verdict that is a signal's becomes one."""
    found: Outcome = {key: document[key] for key in FIELDS if document.get(key) is not None}
    if "output" in document:  # null is an output
        found["output"] = document["output"]
    if found.get("verdict") in SIGNALS:
        signal = {"verdict": found.pop("verdict")}
        signal |= {
            key: document[f"signal_{key}"] for key in ("reason", "meta") if document.get(f"signal_{key}")
        }
        found.setdefault("signals", []).append(signal)
    return found


def from_text(text: str, wanted: Sequence[str]) -> tuple[bool, Any]:
    """(found, output): the first fenced json block that holds a wanted key, else the whole text if it is JSON.

    Without wanted keys the first block that parses counts, unfiltered."""
    for match in FENCE.finditer(text):
        try:
            value = parse(match.group(1), "output")
        except Unreadable:
            continue
        if not wanted:
            return True, value
        if isinstance(value, dict) and any(key in value for key in wanted):
            return True, filtered(value, wanted)
    try:
        return True, filtered(parse(text, "output"), wanted)
    except Unreadable:
        return False, None


def filtered(value: Any, wanted: Sequence[str]) -> Any:
    """Only the wanted keys of an object; anything else as it is."""
    if not wanted or not isinstance(value, dict):
        return value
    return {key: value[key] for key in wanted if key in value}


def signal_in(line: str) -> dict[str, Any] | None:
    """The signal that a line of standard output is. Only at the start of the line (house §4); an unknown verdict counts
    as a signal too, which the engine records and ignores."""
    if not SIGNAL_LINE.match(line):
        return None
    try:
        value = parse(line.strip(), "signal")
    except Unreadable:
        return None
    signal = value.get("flux:signal")
    return signal if isinstance(signal, dict) and isinstance(signal.get("verdict"), str) else None
