"""Two versions beside each other over HTTP: which outcomes go elsewhere, or the proof that none does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ninja import Query
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import LINE, Operations, costly_operation
from pipelines.lines import drawings, version_comparison
from pipelines.models import Line
from pipelines.routing.analysis.difference.samples import Sample
from pipelines.routing.sentences.changes import change_sentence
from pipelines.web.lines.change_groups import merged_canvas_data as picture_of

router = Operations("lines")
PATH = LINE + "/difference"
CHANGES = LINE + "/changes"
PICTURE = LINE + "/picture"


class ChangeOut(BaseModel):
    """`sample` is null where it is not known; then `why` says why."""

    station: str
    old_rule: str | None
    new_rule: str | None
    after_rework: list[str] | None
    differs_in: list[str]
    sample: Sample | None
    why: str
    sentence: str


class StructureOut(BaseModel):
    what: str
    key: str
    old: Any
    new: Any
    sample: Sample | None
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


@router.get(CHANGES, response=list[DocumentChangeOut], summary="What differs between two documents")
def list_document_changes(
    request: Request,
    line: Line,
    before: str = Query("live", alias="from"),
    now: str = Query("draft", alias="to"),
) -> list[dict[str, Any]]:
    """Every change of the document, in words too; those with `affects: routing` decide where tasks go. `from` and `to`:
    the number of a version, `live`, `draft`, or `aside-<id>` of a draft that was put aside."""
    apart = version_comparison.compare_documents(
        version_comparison.comparison_side(line, before), version_comparison.comparison_side(line, now)
    )
    return [
        {**change.to_dict(), "sentence": change_sentence(change, apart.old, apart.new)}
        for change in apart.changes
    ]


@router.get(PATH, response=DifferenceOut, summary="Routing changes")
@costly_operation
def routing_difference_of_versions(
    request: Request,
    line: Line,
    before: str = Query("live", alias="from"),
    now: str = Query("draft", alias="to"),
) -> dict[str, Any]:
    """Return the changes between `from` and `to`: the number of a version, `live` or `draft`. One sample for
    each region that changed, run under both."""
    return version_comparison.routing_difference(
        version_comparison.comparison_side(line, before), version_comparison.comparison_side(line, now)
    ).to_dict()


class PictureOut(BaseModel):
    """Picture of both sides in one document, with the mark of each part. `onward`: where the policy leads
    passed outcomes that no rule takes, `otherwise` in words where rules stand before it; `rejected`: by
    gate, the station that a rejection leads to; `limits`: how often rules may be taken, `before` where
    that was another number; `letters`: where something changed, as the list of changes calls it; `taken`:
    ranks of rules, 0 for the one that most tasks took, where they clearly differ. `icons` and `kinds` of
    work: for the script that draws it. `stored`: where everything stands, once that is worked out."""

    document: dict[str, Any]
    marks: dict[str, dict[str, str]]
    conditions: dict[str, str]
    onward: dict[str, str]
    otherwise: dict[str, str]
    rejected: dict[str, str]
    limits: dict[str, dict[str, Any]]
    letters: list[dict[str, str]]
    taken: dict[str, int]
    icons: str
    kinds: list[dict[str, Any]]
    stored: Mapping[str, Any] | None


@router.get(
    PICTURE,
    response=PictureOut,
    url_name="line-picture",
    summary="What differs, as a picture",
)
def picture_of_changes(
    request: Request,
    line: Line,
    before: str = Query("", alias="from"),
    now: str = Query("draft", alias="to"),
) -> dict[str, Any]:
    """Return the picture of the changes, with `from` and `to` as there. 400: a draft that cannot be read."""
    # A line that was never published is compared with itself.
    before = before or (version_comparison.LIVE if line.live else version_comparison.DRAFT)
    apart = version_comparison.compare_documents(
        version_comparison.comparison_side(line, before), version_comparison.comparison_side(line, now)
    )
    canvas_data = picture_of(apart, line.pk)
    # Without it the script works it out by itself: nobody waits here until it is drawn
    stored = drawings.stored_drawing_or_request(line.project_id, canvas_data)
    return {**canvas_data, "stored": stored.geometry if stored else None}
