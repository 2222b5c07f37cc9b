"""The result document: a JSON object that the work writes where GATELINE_RESULT says (law §2). Pure, but for
reading the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.basics.facts import facts_with_claim
from pipelines.routing.basics.outcome import OutcomeError, is_signal, read_outcome
from pipelines.work.results.files import FileRefused, open_plain_file
from pipelines.work.results.strict_json import Unreadable, parse_storable_json
from pipelines.work.spec.handler_io import Attempt, Outcome

NATIVE, FLUX = "native", "flux"
# Keys of the result document that are fields of the outcome under the same name.
FIELDS = frozenset(
    {"output", "verdict", "eval", "failure_type", "blockers", "artifacts", "signals", "summary", "comment"}
    | {"feedback", "handoff", "usage"}
)
SIGNAL_FIELDS = frozenset({"signal_reason", "signal_meta"})
# Where a Flux document says what an outcome calls usage (dialect D).
FLUX_USAGE = {
    "cost_usd": (("cost", "total_usd"),),
    "tokens_in": (("tokens", "input"), ("meta", "input_tokens")),
    "tokens_out": (("tokens", "output"), ("meta", "output_tokens")),
}


@dataclass(frozen=True)
class Document:
    """The result document as found. `error` says why one that was there does not count."""

    present: bool = False
    fields: Outcome = field(default_factory=dict)
    error: str = ""
    # Whether it says more than an outcome has room for: then it is kept as it is (law §2).
    more: bool = False


def read_document(attempt: Attempt, limit: int, style: str = NATIVE) -> Document:
    """The document that the work wrote, `limit` bytes at most; `style` flux: with Flux's own fields, and a summary."""
    relative = attempt.relative_to_root(attempt.result)
    # A link that leads nowhere is there all the same, and is refused with a reason
    if not attempt.result.is_symlink() and not attempt.result.exists():
        return Document()
    try:
        with open_plain_file(attempt.root, relative) as file:
            # One more than is allowed shows that there is more
            data = file.read(limit + 1)
        if len(data) > limit:
            raise Unreadable(f"result document: larger than {limit} bytes")
        value = parse_storable_json(data.decode(), "result document")
        if not isinstance(value, dict):
            raise Unreadable("result document: has to be one JSON object")
        fields = document_fields(value, style)
        # Only checked, with any exit code: one field that no outcome may have refuses it all
        read_outcome({"exit_code": 0, **fields}, "result document")
    except (FileRefused, Unreadable, UnicodeDecodeError, OutcomeError) as error:
        return Document(True, error=str(error))
    return Document(True, fields, more=bool(value.keys() - FIELDS - SIGNAL_FIELDS))


def document_fields(document: Mapping[str, Any], style: str = NATIVE) -> Outcome:
    """Outcome fields of a result document; a verdict that is a signal's becomes one.

    :raises Unreadable: it lacks what its style asks for"""
    fields: Outcome = {key: document[key] for key in FIELDS if document.get(key) is not None}
    if "output" in document:  # null is an output
        fields["output"] = document["output"]
    verdict = fields.get("verdict")
    if is_signal(verdict):
        del fields["verdict"]
        signal = {"verdict": verdict}
        signal |= {
            key: document[f"signal_{key}"] for key in ("reason", "meta") if document.get(f"signal_{key}")
        }
        before = fields.get("signals", [])
        # A list of signals that is none is refused with its place, like any other field.
        fields["signals"] = [*before, signal] if isinstance(before, list) else before
    if document.get("facts") is not None:  # the work says so: a claim (law §13)
        fields["facts"] = facts_with_claim("facts", {"said": document["facts"]})
    return _flux_outcome(document, fields) if style == FLUX else fields


def _flux_outcome(document: Mapping[str, Any], fields: Outcome) -> Outcome:
    """Flux has no output: what a stage hands on are its artifacts and its `meta`. It asks for a summary."""
    summary = document.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        raise Unreadable("result document.summary: is missing or blank")
    meta = document.get("meta")
    usage = {
        name: number
        for name, places in FLUX_USAGE.items()
        if (number := _first_number_or_none(document, places))
    }
    own = fields.get("usage", {})
    return {
        "output": meta if isinstance(meta, dict) else {},
        **fields,
        **({"usage": {**usage, **own} if isinstance(own, dict) else own} if usage or own else {}),
    }


def _first_number_or_none(document: Mapping[str, Any], places: tuple[tuple[str, str], ...]) -> float | None:
    for family, key in places:
        inside = document.get(family)
        value = inside.get(key) if isinstance(inside, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return value
    return None
