"""The version that recorded outcomes are tried on: a published one, the draft, or a document that somebody sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.errors import Invalid, NotFound
from pipelines.models import Line
from pipelines.queries import versions
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.document.publishable import publishing_problems


@dataclass(frozen=True)
class BacktestTarget:
    """`label`: draft, document, or the number of a version."""

    label: str
    line: ParsedLine


def target_of(line: Line, wanted: str = "draft") -> BacktestTarget:
    """`draft`, `live` or the number of a version. Raises NotFound, DocumentError, Invalid (no line to decide by)."""
    if wanted == "draft":
        return of_document(line.draft, "draft")
    found = line.live if wanted == "live" else _numbered(line, wanted)
    if found is None:
        if wanted == "live":
            raise NotFound("No version of this line is live. Publish it first, or choose another version.")
        raise NotFound(f"This line has no version {wanted}. Choose one of the list.")
    return BacktestTarget(str(found.number), versions.parsed(found))


def of_document(document: Mapping[str, Any], label: str = "document") -> BacktestTarget:
    """Raises DocumentError, Invalid (what could not be published)."""
    parsed = read_line(document)
    problems = publishing_problems(parsed)
    if problems:
        raise Invalid(problems)
    return BacktestTarget(label, parsed)


def _numbered(line: Line, wanted: str) -> Any:
    plain = wanted.isascii() and wanted.isdigit() and len(wanted) < 10
    return line.versions.filter(number=int(wanted)).first() if plain else None
