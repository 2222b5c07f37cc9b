"""Taking a whole document into the line that is on the canvas: read here, looked at there, and applied as one change of
the draft. The templates that an empty line begins with come the same way. Nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from pipelines.api.auth import Request
from pipelines.api.drafts import DRAFT
from pipelines.api.lookup import COSTS, Operations, action_required, costly_operation
from pipelines.api.problems import FaultOut
from pipelines.api.schemas import StrictBody
from pipelines.errors import Invalid
from pipelines.formats import native
from pipelines.formats.changes import AFFECTS, document_changes
from pipelines.formats.foreign import document_import
from pipelines.lines.starters.catalogue import BY_KEY, Starter
from pipelines.models import Line
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import DocumentError, Problem, read_line
from pipelines.routing.sentences.changes import change_sentence
from pipelines.web.lines.change_groups import GROUPS, LOOKS
from pipelines.web.lines.drawing import picture_of

router = Operations("drafts", COSTS)
FIRST = ("review-before-delivery", "build-test-fix", "triage")
"""The templates on an empty canvas; all of them stand on the page of a new line."""
MOST = 500
"""Changes that are told in words."""


class ImportIn(StrictBody):
    """`document`: what is on the canvas. `text`: what is to take its place, or `starter`, the key of a template."""

    document: dict[str, Any]
    text: str = Field(default="", max_length=native.MAX_TEXT)
    starter: str = Field(default="", max_length=64)


class StarterOut(BaseModel):
    """`picture`: what the canvas draws of it."""

    key: str
    name: str
    purpose: str
    needs: str
    picture: dict[str, Any]


class ChangesOut(BaseModel):
    """Changes in words, by what they affect."""

    affects: str
    title: str
    rows: list[dict[str, str]]


class ImportOut(BaseModel):
    """`document` has the key of this line; `text` is what it was read from; `problems` are those of it as a line."""

    document: dict[str, Any]
    text: str
    changes: list[ChangesOut]
    problems: list[FaultOut]


@router.get(
    DRAFT + "/starters",
    response=list[StarterOut],
    summary="Templates that an empty line begins with",
)
@action_required("design")
@costly_operation
def starters(request: Request, line: Line) -> list[dict[str, Any]]:
    return [_starter_data(BY_KEY[key]) for key in FIRST]


@router.post(
    DRAFT + "/import",
    response=ImportOut,
    summary="Read what is to take the place of the draft",
)
@action_required("design")
@costly_operation
def convert_document_for_draft(request: Request, line: Line, payload: ImportIn) -> dict[str, Any]:
    """Nothing is stored: save the document if it is wanted. 400: it cannot be drawn at all, with its problems by line
    and column."""
    return _starter_document(line, payload) if payload.starter else _imported_document(line, payload)


def _starter_data(starter: Starter) -> dict[str, Any]:
    return {
        "key": starter.key,
        "name": starter.line.name or starter.key,
        "purpose": str(starter.purpose),
        "needs": " · ".join(map(str, starter.needs)),
        "picture": picture_of(starter.line).given,
    }


def _starter_document(line: Line, sent: ImportIn) -> dict[str, Any]:
    """A line keeps the name it has. Raises Invalid: no such template."""
    starter = BY_KEY.get(sent.starter)
    if starter is None:
        raise Invalid.at("starter", "There is no such template.")
    # Its own key: tasks, triggers and addresses name the line by it
    document = {**native.loads(starter.text), "key": line.key}
    if sent.document.get("name"):
        document["name"] = sent.document["name"]
    return {"document": document, "text": starter.text, "changes": [], "problems": []}


def _imported_document(line: Line, sent: ImportIn) -> dict[str, Any]:
    """Raises DocumentError: nothing that can be drawn."""
    opened = document_import.import_document(sent.text)
    # Whatever key the text has: it is to take the place of the draft of this line
    document = {**opened.document, "key": line.key}
    problems = native.problems_with_places(opened.text, _reading_problems(document))
    # A text that is not drawn may still be mended: its problems are answered
    if not is_drawable(document):
        raise DocumentError(problems or _undrawable_problems())
    return {
        "document": document,
        "text": opened.text,
        "changes": [*_loss_changes(opened), *_change_groups(sent.document, document)],
        "problems": [problem.to_dict() for problem in problems],
    }


def _loss_changes(opened: document_import.ImportedDocument) -> list[dict[str, Any]]:
    """Return what a document of another system expresses otherwise, before the changes."""
    if not opened.losses:
        return []
    rows = [
        {"sentence": people_text(loss.message), "what": "changed", "icon": "info", "word": loss.path}
        for loss in opened.losses
    ]
    title = f"Different from the document of {opened.system_name}"
    return [{"affects": "words", "title": title, "rows": rows[:MOST]}]


def _undrawable_problems() -> list[Problem]:
    hint = "Stations, gates and ends are lists of objects with a key, and rules have an id."
    return [Problem("", "This cannot be drawn.", hint)]


def _reading_problems(document: dict[str, Any]) -> list[Problem]:
    try:
        read_line(document)
    except DocumentError as fault:
        return list(fault.problems)
    return []


def is_drawable(document: Any) -> bool:
    """Return whether the document can be drawn, by the rules of `canBeDrawn` of
    static/editor/store/document.ts."""
    if not isinstance(document, Mapping) or not _have_text_key(document.get("stations"), "key"):
        return False
    others = [document[part] for part in ("gates", "ends") if document.get(part) is not None]
    if not all(_have_text_key(members, "key") for members in others):
        return False
    return all(_have_text_key(station.get("rules", []), "id") for station in document["stations"])


def _have_text_key(members: Any, key: str) -> bool:
    return isinstance(members, list) and all(
        isinstance(member, Mapping) and isinstance(member.get(key), str) for member in members
    )


def _full_documents_or_both_as_given(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return both documents in full, so that a mere difference in notation is no change; if one is no line
    yet, with its parts."""
    try:
        # In full: what one says and the other leaves to its default is no change
        return read_line(old).to_document(), read_line(new).to_document()
    except DocumentError:
        parts: dict[str, Any] = {"inputs": [], "stations": [], "gates": [], "ends": []}
        return {**parts, **old}, {**parts, **new}


def _change_groups(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows: dict[str, list[dict[str, str]]] = {group: [] for group in AFFECTS}
    old, new = _full_documents_or_both_as_given(old, new)
    differences = document_changes(old, new)
    for change in differences[:MOST]:
        icon, word = LOOKS[change.what]
        row = {
            "sentence": people_text(change_sentence(change, old, new)),
            "what": change.what,
            "icon": icon,
            "word": word,
        }
        rows[change.affects].append(row)
    groups = [
        {"affects": key, "title": GROUPS[key], "rows": group_rows}
        for key, group_rows in rows.items()
        if group_rows
    ]
    if len(differences) > MOST:
        more = f"and {len(differences) - MOST} more"
        groups.append({"affects": "layout", "title": more, "rows": []})
    return groups
