"""A line as a document of another system. What that cannot say is found by reading the result back: whatever differs
then is a loss, so that none goes unsaid."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.formats import foreign, native
from pipelines.formats.changes import changes
from pipelines.formats.dialects import AEEF, ALP, CONTENOX, FLUX, VIBE_FACTORY
from pipelines.formats.foreign.writers import aeef, alp, contenox, flux, vibe_factory
from pipelines.formats.foreign.writers.parts import Json, renamed
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.sentences.changes import sentence

WRITERS: Final[Mapping[str, Callable[[Json], Any]]] = {
    ALP: alp.write,
    CONTENOX: contenox.write,
    VIBE_FACTORY: vibe_factory.write,
    FLUX: flux.write,
    AEEF: aeef.write,
}
AS_YAML: Final = (FLUX, AEEF)
"""What these systems write; the others write JSON."""


@dataclass(frozen=True)
class WrittenDocument:
    """`losses`: what the document says otherwise than the line, in words, with places in the line."""

    text: str
    dialect: str
    losses: tuple[Problem, ...]

    @property
    def suffix(self) -> str:
        return "yaml" if self.dialect in AS_YAML else "json"


def dialect_of(document: Mapping[str, Any]) -> str:
    """That of its preset; "" for none."""
    preset = document.get("preset")
    return preset if isinstance(preset, str) and preset in WRITERS else ""


def written(document: Mapping[str, Any], dialect: str) -> WrittenDocument:
    """`document`: any that a line can be read from. Raises DocumentError: it is none."""
    line = read_line(document).to_document()
    made = WRITERS[dialect](line)
    text = native.dumps(made) if dialect in AS_YAML else json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    return WrittenDocument(text, dialect, _losses(line, text, dialect))


def _losses(line: Json, text: str, dialect: str) -> tuple[Problem, ...]:
    try:
        read = read_line(foreign.opened(text, dialect).document).to_document()
    except DocumentError as fault:
        hint = _("that system has no word for it; simplify the line before it is written")
        return tuple(Problem(each.path, each.message, hint) for each in fault.problems)
    back = renamed(read, line)
    return tuple(
        Problem(_place(change.kind, change.key, change.station), sentence(change, line, back))
        for change in changes(line, back)
        if change.affects != "layout" and change.field.partition(".")[0] not in ("extra", "key")
    )


def _place(kind: str, key: str, station: str) -> str:
    return f"{station}.{key}" if station else f"{kind} {key}" if key else kind
