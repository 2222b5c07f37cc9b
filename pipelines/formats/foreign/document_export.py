"""A line as a document of another system. What that cannot say is found by reading the result back: whatever differs
then is a loss, so that none goes unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.formats import native
from pipelines.formats.changes import DocumentChange, document_changes
from pipelines.formats.foreign.alp import ALP
from pipelines.formats.foreign.document_import import import_document
from pipelines.formats.foreign.known_systems import systems_by_key, written_systems
from pipelines.formats.foreign.writer_helpers import Json, document_with_keys_of_line
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.sentences.changes import change_sentence
from pipelines.routing.sentences.excerpts import text_excerpt

MAX_EXAMPLES = 5
"""Keys of other programs that a loss names."""


@dataclass(frozen=True)
class WrittenDocument:
    """`losses`: what the document says otherwise than the line, in words, with places in the line."""

    text: str
    dialect: str
    losses: tuple[Problem, ...]

    @property
    def suffix(self) -> str:
        return "yaml" if systems_by_key()[self.dialect].as_yaml else "json"


def document_dialect(document: Mapping[str, Any]) -> str:
    """Return the dialect of the document's preset; of a line without one ALP, whose policy it has."""
    preset = document.get("preset")
    return preset if isinstance(preset, str) and preset in written_systems() else ALP.key


def export_document(document: Mapping[str, Any], dialect: str) -> WrittenDocument:
    """`document`: any that a line can be read from. Raises DocumentError: it is none."""
    line = read_line(document).to_document()
    system = systems_by_key()[dialect]
    made = system.write(line) if system.write else {}
    text = native.dumps(made) if system.as_yaml else json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    return WrittenDocument(text, dialect, _export_losses(line, text, dialect))


def _export_losses(line: Json, text: str, dialect: str) -> tuple[Problem, ...]:
    try:
        read = read_line(import_document(text, dialect).document).to_document()
    except DocumentError as fault:
        hint = "that system has no word for it; simplify the line before it is written"
        return tuple(Problem(problem.path, problem.message, hint) for problem in fault.problems)
    back = document_with_keys_of_line(read, line)
    differences = document_changes(line, back)
    losses = (
        Problem(_place_text(change.kind, change.key, change.station), change_sentence(change, line, back))
        for change in differences
        if change.affects != "layout" and change.field.partition(".")[0] not in ("extra", "key")
    )
    return (*losses, *_extra_losses(differences))


def _extra_losses(differences: Iterable[DocumentChange]) -> Iterator[Problem]:
    """Yield one loss for all that other programs keep in the line and the document has not. What the reader of that
    system adds is none."""
    keys: list[str] = []
    for change in differences:
        name, _dot, key = change.field.partition(".")
        if name == "extra" and change.what == "removed":
            keys += [key] if key else list(change.old)
    # `editor` has the places on the canvas, which are layout.
    if lost := [key for key in keys if key.partition(".")[0] != "editor"]:
        examples = ", ".join(list(dict.fromkeys(lost))[:MAX_EXAMPLES])
        message = _("Values of other programs are gone: %(count)s of “extra”, such as %(keys)s.",
                    count=len(lost), keys=text_excerpt(examples))  # fmt: skip
        yield Problem("extra", message)


def _place_text(kind: str, key: str, station: str) -> str:
    return f"{station}.{key}" if station else f"{kind} {key}" if key else kind
