"""Two versions beside each other over HTTP: which outcomes go elsewhere, or the proof that none does."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel

from pipelines import access, comparing
from pipelines.api.problems import ProblemOut

router = Router(tags=["lines"])
PATH = "/owners/{owner}/projects/{project}/lines/{line}/difference"
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


@router.get(PATH, response={200: DifferenceOut, **ERRORS}, summary="Which outcomes go elsewhere")
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
    return comparing.compared(comparing.named(found, before), comparing.named(found, now)).to_dict()
