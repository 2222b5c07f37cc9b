"""Two versions of a stored line, or its draft, beside each other: remembered, since a version never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pipelines import access
from pipelines.errors import Invalid, NotFound
from pipelines.formats.changes import DocumentChange, document_changes
from pipelines.formats.overlay import Overlay, overlay_documents
from pipelines.models import Line, LineEvent
from pipelines.routing.analysis.difference.compare import Difference, line_difference
from pipelines.routing.basics.canonical import canonical_digest
from pipelines.routing.document.ends import BUILT_IN_ENDS
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.document.networks import document_to_publish, published_document

LIVE, DRAFT, ASIDE = "live", "draft", "aside-"
REMEMBERED = 64
"""Pairs per process."""
PLACES = len(("extra", "editor", "positions"))
"""Steps to the places on the canvas."""


@dataclass(frozen=True)
class ComparedSide:
    """Side of a comparison: `name` is a number, draft, or aside-<id> of a draft that was put aside when
    another was restored. Sides with equal documents are equal."""

    name: str = field(compare=False)
    digest: str = ""
    document: Mapping[str, Any] = field(default_factory=dict, compare=False)


def comparison_side(line: Line, name: str) -> ComparedSide:
    """Return the side of a comparison. `name`: the number of a version, `live`, `draft` or `aside-<id>`. Raises

    NotFound."""
    if name == DRAFT:
        drawn = document_to_publish(line.draft)
        return ComparedSide(DRAFT, canonical_digest(drawn), drawn)
    if name.startswith(ASIDE):
        event = event_of_draft_put_aside(line, name.removeprefix(ASIDE))
        return ComparedSide(name, canonical_digest(event.draft), event.draft or {})
    version = line.live if name == LIVE else access.version_of_permitted_line(line, name)
    if version is None:
        raise NotFound("This line has no such version.")
    document = published_document(version.document, version.revision)
    # Only then does the stored digest name what is compared.
    same = document == version.document
    return ComparedSide(str(version.number), version.digest if same else canonical_digest(document), document)


def event_of_draft_put_aside(line: Line, name: str) -> LineEvent:
    """The event that keeps a draft. Raises NotFound."""
    # Every number of up to 18 digits fits into a bigint.
    plain = name.isascii() and name.isdigit() and len(name) < 19
    event = line.record.filter(pk=int(name), draft__isnull=False).first() if plain else None
    if event is None:
        raise NotFound("This line has no such draft.")
    return event


@dataclass(frozen=True)
class DocumentComparison:
    """Comparison of two documents: both as a whole, what differs, and both in one picture."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]
    changes: tuple[DocumentChange, ...]
    picture: Overlay


@lru_cache(maxsize=REMEMBERED)
def compare_documents(old: ComparedSide, new: ComparedSide) -> DocumentComparison:
    """Raises Invalid: a draft that cannot be read."""
    before, now = _parsed_side(old).to_document(), _parsed_side(new).to_document()
    differences = tuple(
        change for change in document_changes(before, now) if not _is_orphan_layout(change, now)
    )
    return DocumentComparison(before, now, differences, overlay_documents(before, now, differences))


def _is_orphan_layout(change: DocumentChange, now: Mapping[str, Any]) -> bool:
    """Return whether a change is the position on the canvas of a station or end that no longer exists."""
    if change.affects != "layout" or len(change.steps) <= PLACES:
        return False
    key = str(change.steps[PLACES])
    drawn = {node["key"] for node in (*now["stations"], *now.get("ends", ()))}
    return not key.startswith("@") and key not in drawn and key not in BUILT_IN_ENDS


@lru_cache(maxsize=REMEMBERED)
def routing_difference(old: ComparedSide, new: ComparedSide) -> Difference:
    """Raises Invalid: a draft that cannot be read."""
    return line_difference(_parsed_side(old), _parsed_side(new))


def _parsed_side(side: ComparedSide) -> Any:
    try:
        return read_line(side.document, keep_faulty_rules=True)
    except DocumentError as fault:
        raise Invalid(fault.problems) from fault
