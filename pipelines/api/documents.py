"""A document of any system that is known, or the files of one, as a line: looked at first, with all that it says
otherwise; then kept as a new line, if that was seen. And a line as such a document."""

from __future__ import annotations

from typing import Any

from ninja import Status
from pydantic import BaseModel, Field

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import COSTS, LINE, PROJECT, Operations, action_required, costly_operation
from pipelines.api.problems import FaultOut
from pipelines.api.schemas import LineOut, StrictBody
from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import document_dialect, export_document
from pipelines.formats.foreign.folder_archive import MOST_FILES
from pipelines.formats.foreign.known_systems import systems_by_key, written_systems
from pipelines.formats.top_members import text_with_members_or_empty
from pipelines.lines import publishing
from pipelines.lines.project_lint import examine_document
from pipelines.models import Line, Project
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import DocumentError, Problem, read_line
from pipelines.web.lines import drawing
from pipelines.web.lines.lines import exported_document
from pipelines.web.shell.costly_requests import taking_turn

router = Operations("lines", COSTS)


class FilesIn(StrictBody):
    """`files`: texts by their path; several are a folder `.agentics` of ALP. `save`: keep it as a new line, under
    `key` if it is given. `losses`: how many were listed, so that none is saved unseen."""

    files: dict[str, str] = Field(min_length=1, max_length=MOST_FILES)
    save: bool = False
    key: str = Field(default="", max_length=64)
    losses: int = Field(default=0, ge=0, le=10_000)


class DocumentOut(BaseModel):
    """`dialect`: "" for Gateline's own format. `losses`: what the line says otherwise, with places in what was read.
    `findings`: of lint, counted. `picture`: what the canvas draws; null where it cannot be. `saved`: the new line."""

    dialect: str
    system: str
    key: str
    name: str
    stations: int
    rules: int
    gates: int
    losses: list[FaultOut]
    findings: dict[str, int]
    document: dict[str, Any]
    text: str
    picture: dict[str, Any] | None
    saved: LineOut | None


@router.post(
    PROJECT + "/import",
    response={200: DocumentOut, 201: DocumentOut},
    summary="Read a document of any known system as a line, and keep it",
    url_name="project-import",
)
@action_required("design")
def read_document_without_storing(
    request: Request, project: Project, payload: FilesIn
) -> Status[dict[str, Any]]:
    """200: nothing was stored. 400: it cannot be read, with each problem's file, line, column and path. 409: the key is
    taken, or there are other losses than were listed. Nothing that a document names is run, opened or fetched."""
    # Not `view_in_turn`: whether it saves stands in the body
    with taking_turn(request.auth, saves=payload.save):
        opened = document_import.import_files(payload.files)
        imported = _document_data(opened, project, payload.key)
        if not payload.save:
            return Status(200, imported)
        # By their number: a newer server may lose something else of the same file than was agreed to
        if payload.losses != len(opened.losses):
            raise Conflict(
                f"This document has {len(opened.losses)} losses, and others were listed. Look at them first."
            )
        made = publishing.create_line(
            project, imported["key"], imported["name"], imported["text"], require_person(request.auth)
        )
    return Status(201, {**imported, "saved": LineOut.of(made)})


OWN = "gateline"
"""Name of Gateline's own format among the dialects."""


class WrittenOut(BaseModel):
    """`dialect`: "" for Gateline's own format. `losses`: what the document of that system says otherwise than the
    line."""

    dialect: str
    system: str
    text: str
    losses: list[FaultOut]


@router.get(
    LINE + "/export",
    response=WrittenOut,
    summary="A line as a document, also of another system with what it loses",
)
@costly_operation
def export(request: Request, line: Line, dialect: str = "", version: str = "") -> dict[str, Any]:
    """`dialect`: `gateline`, with a draft as it was typed, or another system; that of the line's preset unless it says
    otherwise. `version`: a number or `draft`; the live one, or the draft where nothing is live. 400: no such dialect,
    or a draft that is no line yet and cannot be written for another system."""
    document, text, _mark = exported_document(line, version)
    dialect = dialect or document_dialect(document)
    if dialect == OWN:
        return {"dialect": "", "system": "", "text": text or native.dumps(document), "losses": []}
    if dialect not in written_systems():
        known = ", ".join((OWN, *written_systems()))
        raise Invalid.at("dialect", f"has to be one of {known}")
    made = export_document(document, dialect)
    losses = [_problem_data(loss) for loss in made.losses]
    return {"dialect": dialect, "system": systems_by_key()[dialect].name, "text": made.text, "losses": losses}


def _document_data(opened: document_import.ImportedDocument, project: Project, key: str) -> dict[str, Any]:
    """Raises Invalid: it has no key, or is no object of stations."""
    document, text = opened.document, opened.text
    if key and document.get("key") != key:
        document = {**document, "key": key}
        # Into the text as it is, for its comments to stay; where that cannot be, all of it anew
        text = text_with_members_or_empty(text, document, ["key"]) or native.dumps(document)
    stations = document.get("stations")
    if not isinstance(document.get("key"), str) or not isinstance(stations, list):
        missing = "stations" if isinstance(document.get("key"), str) else "key"
        raise Invalid.at(missing, "is missing")
    return {
        "dialect": opened.dialect,
        "system": opened.system_name,
        "key": document["key"],
        "name": str(document.get("name") or document["key"])[:200],
        "stations": len(stations),
        "rules": sum(
            len(_list_member(station, "rules")) for station in stations if isinstance(station, dict)
        ),
        "gates": len(_list_member(document, "gates")),
        "losses": [_problem_data(loss) for loss in opened.losses],
        "findings": examine_document(document, project, text).to_dict()["counts"],
        "document": document,
        "text": text,
        "picture": drawing_data_or_none(document),
        "saved": None,
    }


def drawing_data_or_none(document: dict[str, Any]) -> dict[str, Any] | None:
    try:
        # With faulty rules: a picture of most of the line tells more than none
        line = read_line(document, keep_faulty_rules=True)
    except DocumentError:
        return None
    return drawing.picture_of(line).given


def _list_member(of: dict[str, Any], name: str) -> list[Any]:
    members = of.get(name)
    return members if isinstance(members, list) else []


def _problem_data(problem: Problem) -> dict[str, Any]:
    return {**problem.to_dict(), "message": people_text(problem.message), "hint": people_text(problem.hint)}
