"""Lines that name a secret or a variable: in the version that is live, and in the draft."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.models import Line, Project, StoredValue
from pipelines.routing.document.work.references import SECRET, VARIABLE


@dataclass(frozen=True)
class ValueUse:
    """A line that names a value. `live`: its live version does, else only its draft."""

    line: Line
    live: bool


def uses_by_value(project: Project, values: Iterable[StoredValue]) -> dict[int, list[ValueUse]]:
    """Return by the id of each value the lines of the project that name it and get it, unless a nearer value of
    the same name hides it."""
    values = list(values)
    uses_by_value: dict[int, list[ValueUse]] = {value.pk: [] for value in values}
    for line in project.lines.select_related("live").order_by("name"):
        live = set(value_references(line.live.document)) if line.live else set()
        for kind, name in sorted(live | set(value_references(line.draft))):
            nearest = min(
                (value for value in values if _is_visible_to(value, line, name)),
                key=_scope_distance,
                default=None,
            )
            if nearest is not None and nearest.kind == kind:
                uses_by_value[nearest.pk].append(ValueUse(line, (kind, name) in live))
    return uses_by_value


def value_references(document: Any) -> Iterator[tuple[str, str]]:
    """(kind, name) wherever a document has `{secret: NAME}` or `{variable: NAME}`; a draft may be invalid."""
    if isinstance(document, Mapping):
        for kind in (SECRET, VARIABLE):
            if list(document) == [kind] and isinstance(document[kind], str):
                yield kind, document[kind]
        for member in document.values():
            yield from value_references(member)
    elif isinstance(document, list | tuple):
        for member in document:
            yield from value_references(member)


def _is_visible_to(value: StoredValue, line: Line, name: str) -> bool:
    return value.name == name and value.line_id in (None, line.pk)


def _scope_distance(value: StoredValue) -> int:
    return 0 if value.line_id else 1 if value.project_id else 2
