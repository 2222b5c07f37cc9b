"""Sample values for required form fields that a scenario does not mention."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any

from pipelines.routing.document.inputs import Input
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.stations import Station

TEXT = "made-up"
FILE: Mapping[str, str] = {"name": "made-up.txt", "digest": hashlib.sha256(TEXT.encode()).hexdigest()}
FORMS = 16
"""Ways to fill in one form that are tried."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,),
    "long_text": (str,),
    "number": (int, float),
    "date": (str,),
    "revision": (str,),
}


def sample_value(field: Input) -> Any:
    """Return a value for one field without a default, within its bounds; None for a secret, which nobody can
    make up, and for a text that has to match a pattern."""
    if field.type in ("text", "long_text"):
        return None if field.pattern else _sample_text(field)
    known = {
        "number": _sample_number(field),
        "date": "2026-01-31",
        "choice": next(iter(field.choices), ""),
        "yes_no": True,
        "repository": "https://example.org/made-up.git",
        "file": {**FILE, "name": f"made-up{next(iter(field.accept), '.txt')}"},
        "secret": None,
    }
    return known.get(field.type, TEXT)


def _sample_number(field: Input) -> int:
    least = max(1, field.minimum or 1)
    return least if field.maximum is None else min(least, field.maximum)


def _sample_text(field: Input) -> str:
    return TEXT.ljust(field.minimum or 0, "-")[: field.maximum]


# Forms


def form_inputs(station: Station) -> tuple[Input, ...]:
    """The fields that a person fills in who completes this station."""
    kind = KINDS.get(station.kind)
    return kind.form(station) if kind and not kind.chooses else ()


def reportable_outcomes(station: Station, outcome: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The outcome as a person can report it: with the form of the station filled in, in every choice that it leaves
    open. Nothing where the form does not take it. Who reports no `result: success` need not fill the form in."""
    fields, output = form_inputs(station), outcome.get("output", {})
    needless = "output" not in outcome and outcome.get("result") != "success"
    if not fields or needless or not isinstance(output, Mapping):
        yield dict(outcome)
        return
    values = {key: entry for key, entry in output.items() if entry not in (None, "")}
    known = {field.key: field for field in fields}
    if any(key not in known or not _fits(known[key], entry) for key, entry in values.items()):
        return
    yield from _filled_outcomes(fields, values, outcome)
    if not values and outcome.get("result") == "success":
        # For what a form that is filled in never leads to: a verdict alone says the same, and leaves it open.
        rest = {key: entry for key, entry in outcome.items() if key not in ("result", "output")}
        yield {"verdict": "pass", **rest}


def _filled_outcomes(
    fields: Iterable[Input], values: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    open_ones = [field for field in fields if field.key not in values]
    ways = product(*(_possible_entries(field) for field in open_ones))
    for way in islice(ways, FORMS):
        filled = {field.key: entry for field, entry in zip(open_ones, way, strict=True) if entry is not None}
        yield {**outcome, "output": {**values, **filled}}


def _possible_entries(field: Input) -> tuple[Any, ...]:
    """Return the possible entries of the field; None: no entry."""
    if field.has_default and field.type != "secret":
        return (field.default,)
    if not field.required:
        return (None,)
    if field.type == "yes_no":
        return (True, False)
    made = sample_value(field)
    if made is None:
        return ()
    return field.choices if field.type == "choice" else (made,)


def _fits(field: Input, entry: Any) -> bool:
    if field.type == "choice":
        return entry in field.choices
    if field.type == "yes_no":
        return isinstance(entry, bool)
    return not isinstance(entry, bool) and isinstance(entry, _TYPES.get(field.type, (str, dict)))
