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


def backtest_target(line: Line, version_name: str = "draft") -> BacktestTarget:
    """`draft`, `live` or the number of a version. Raises NotFound, DocumentError, Invalid (no line to decide by)."""
    if version_name == "draft":
        return target_of_document(line.draft, "draft")
    version = line.live if version_name == "live" else _version_by_number_or_none(line, version_name)
    if version is None:
        if version_name == "live":
            raise NotFound("No version of this line is live. Publish it first, or choose another version.")
        raise NotFound(f"This line has no version {version_name}. Choose one of the list.")
    return BacktestTarget(str(version.number), versions.parsed_version(version))


def target_of_document(document: Mapping[str, Any], label: str = "document") -> BacktestTarget:
    """Raises DocumentError, Invalid (what could not be published)."""
    parsed = read_line(document)
    problems = publishing_problems(parsed)
    if problems:
        raise Invalid(problems)
    return BacktestTarget(label, parsed)


def _version_by_number_or_none(line: Line, version_name: str) -> Any:
    plain = version_name.isascii() and version_name.isdigit() and len(version_name) < 10
    return line.versions.filter(number=int(version_name)).first() if plain else None
