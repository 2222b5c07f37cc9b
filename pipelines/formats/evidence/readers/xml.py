"""XML of others: no entities, no document types, bounded in size, depth and number of elements."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from pipelines.formats.evidence.readers.report import DEPTH, MOST_BYTES, UnreadableReport

MOST_ELEMENTS = 500_000


def parsed_elements(data: bytes) -> Iterator[tuple[str, Element, int]]:
    """(start or end, element, depth), the root at depth 1.

    Raises UnreadableReport."""
    if len(data) > MOST_BYTES:
        raise UnreadableReport("larger than 16 MiB")
    depth = count = 0
    try:
        # Piece by piece and without entities: a report is written by a station
        events: Any = iterparse(io.BytesIO(data), events=("start", "end"), forbid_dtd=True)
        for event, element in events:
            if event == "start":
                depth, count = depth + 1, count + 1
                if depth > DEPTH or count > MOST_ELEMENTS:
                    raise UnreadableReport("nested too deeply" if depth > DEPTH else "too many elements")
            yield event, element, depth
            if event == "end":
                depth -= 1
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise UnreadableReport(f"no readable XML: {type(error).__name__}") from error


def int_or_zero(value: str | None) -> int:
    """A number of an attribute, 0 where it is none."""
    text = (value or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def percent_or_none(value: str | None) -> float | None:
    """A rate between 0 and 1, in percent."""
    try:
        ratio = float(value or "")
    except ValueError:
        return None
    return round(ratio * 100, 2) if 0 <= ratio <= 1 else None
