"""Two versions beside each other over HTTP: which outcomes go elsewhere, or the proof that none does."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel

from pipelines import access
from pipelines.api.problems import ProblemOut
from pipelines.formats.change_words import sentence
from pipelines.lines import comparing
from pipelines.web.shell.turns import turn

router = Router(tags=["lines"])
PATH = "/owners/{owner}/projects/{project}/lines/{line}/difference"
CHANGES = "/owners/{owner}/projects/{project}/lines/{line}/changes"
ERRORS = dict.fromkeys((400, 401, 403, 404), ProblemOut)


class SampleOut(BaseModel):
    """A situation of the decision tool, and what each version decides of it."""

    situation: dict[str, Any]
    old: dict[str, Any]
    new: dict[str, Any]


class ChangeOut(BaseModel):
    """`sample` is null where it is not known; then `why` says why."""

    station: str
    old_rule: str | None
    new_rule: str | None
    after_rework: list[str] | None
    differs_in: list[str]
    sample: SampleOut | None
    why: str
    sentence: str


class StructureOut(BaseModel):
    what: str
    key: str
    old: Any
    new: Any
    sample: SampleOut | None
    sentence: str


class DifferenceOut(BaseModel):
    """`none` is proved."""

    difference: Literal["none", "some", "unknown"]
    structure: list[StructureOut]
    changes: list[ChangeOut]
    unknown: list[ChangeOut]


class DocumentChangeOut(BaseModel):
    """`kind` and `key`: what it is about (line, station, rule, gate, end, input). `affects`: `routing` decides where
    tasks go, the others do not."""

    path: str
    what: Literal["added", "removed", "changed", "order"]
    kind: str
    key: str
    station: str
    field: str
    old: Any
    new: Any
    affects: Literal["routing", "work", "form", "words", "layout"]
    sentence: str


@router.get(
    CHANGES, response={200: list[DocumentChangeOut], **ERRORS}, summary="What differs between two documents"
)
def changes(
    request: HttpRequest,
    owner: str,
    project: str,
    line: str,
    before: str = Query("live", alias="from"),
    now: str = Query("draft", alias="to"),
) -> list[dict[str, Any]]:
    """Every change of the document, in words too; those with `affects: routing` decide where tasks go. `from` and `to`:
    the number of a version, `live`, `draft`, or `aside-<id>` of a draft that was put aside."""
    found = access.get_line(request.auth, owner, project, line)  # type: ignore[attr-defined]
    access.require(request.auth, "view", found.project)  # type: ignore[attr-defined]
    apart = comparing.apart(comparing.named(found, before), comparing.named(found, now))
    return [{**each.to_dict(), "sentence": sentence(each, apart.old, apart.new)} for each in apart.changes]


@router.get(PATH, response={200: DifferenceOut, **ERRORS}, summary="Routing changes")
def difference(
    request: HttpRequest,
    owner: str,
    project: str,
    line: str,
    before: str = Query("live", alias="from"),
    now: str = Query("draft", alias="to"),
) -> dict[str, Any]:
    """`from` and `to`: the number of a version, `live` or `draft`. One sample for each region that changed, run
    under both."""
    found = access.get_line(request.auth, owner, project, line)  # type: ignore[attr-defined]
    access.require(request.auth, "view", found.project)  # type: ignore[attr-defined]
    with turn(request.auth):  # type: ignore[attr-defined]
        return comparing.compared(comparing.named(found, before), comparing.named(found, now)).to_dict()
