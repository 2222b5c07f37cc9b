"""Stored drawings of a line: the file of a version's drawing; and where the server has no Node, the door by which the
browser that drew a line hands its drawing over."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Field
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request
from pipelines.api.lookup import (
    COSTS,
    LINE,
    PROJECT,
    Operations,
    action_required,
    costly_operation,
    saving_in_turn,
)
from pipelines.api.schemas import StrictBody
from pipelines.errors import Conflict, Invalid
from pipelines.formats.drawings import NotTheDrawing
from pipelines.lines import drawings
from pipelines.models import Line, Project
from pipelines.web.lines.drawing import picture_of_draft, picture_of_version

router = Operations("lines", COSTS)
FARTHEST = 1e7
Length = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
Key = Annotated[str, Field(max_length=300)]
Point = tuple[Length, Length]


class FrameOut(BaseModel):
    """`geometry`: `{key, placed}`, where every part, gate and edge stands; `svg`: the same as a picture."""

    geometry: dict[str, Any]
    svg: str


class DrawingOut(BaseModel):
    """`version`: its number, or `draft`. `wide`: as wide as a page; `narrow`: from above to below, for a phone."""

    version: str
    digest: str
    wide: FrameOut
    narrow: FrameOut


@router.get(
    LINE + "/drawing", response=DrawingOut, summary="The drawing of a version, as SVG and as geometry"
)
@costly_operation
def drawing_of_line(request: Request, line: Line, version: str = "") -> dict[str, Any]:
    """`version`: a number or `draft`; the live one, or the draft where nothing is live. 400: the draft is no line yet.
    409: it is not drawn yet, which is told with what to do."""
    if version == "draft" or (not version and line.live is None):
        name, picture = "draft", picture_of_draft(line).given
    else:
        line_version = (
            access.version_of_permitted_line(line, version) if version or line.live is None else line.live
        )
        name, picture = str(line_version.number), picture_of_version(line_version).given
    stored = drawings.stored_drawing_or_request(line.project_id, picture)
    if stored is None:
        raise Conflict(drawings.pending_reason(line.project_id, picture))
    svg = {"wide": stored.wide, "narrow": stored.narrow}
    frames = {frame: {"geometry": stored.geometry[frame], "svg": svg[frame]} for frame in drawings.FRAMES}
    return {"version": name, "digest": stored.digest, **frames}


class SpotIn(StrictBody):
    key: Key
    x: Length
    y: Length


class RectangleIn(StrictBody):
    x: Length
    y: Length
    width: Length
    height: Length


class WayIn(StrictBody):
    """Edge of a rule to one of its targets, with the places of its limit and of its words."""

    rule: Key
    target: Key
    points: list[Point] = Field(min_length=2, max_length=200)
    back: bool
    pill_at: Point | None = Field(None, alias="pillAt")
    words_at: RectangleIn | None = Field(None, alias="wordsAt")


class PlacedIn(StrictBody):
    """`parts`: upper left corners of stations, ends and pills; `gates`: middles of hexagons, by rule; `stubs`: edges
    (`rule>target`) in the place of which a pill names where they lead."""

    parts: list[SpotIn] = Field(max_length=10_000)
    gates: list[SpotIn] = Field(max_length=10_000)
    ways: list[WayIn] = Field(max_length=20_000)
    rows: list[list[Key]] = Field(max_length=10_000)
    stubs: list[Annotated[str, Field(max_length=600)]] = Field([], max_length=100)


class GeometryIn(StrictBody):
    """`key`: of the graph that was laid out."""

    key: str = Field(pattern=r"^[0-9]{1,6} [0-9]{1,16}$", examples=["12 48213"])
    placed: PlacedIn


class FrameIn(StrictBody):
    geometry: GeometryIn
    svg: str


class DrawingIn(StrictBody):
    """A line as a browser drew it, in both frames."""

    wide: FrameIn
    narrow: FrameIn


@router.put(
    PROJECT + "/drawings/{drawing}",
    response={204: None},
    summary="Hand over a drawing that the server cannot make",
    url_name="drawing",
)
@action_required("design")
@saving_in_turn
def store_drawing_made_by_page(request: Request, project: Project, drawing: str, payload: DrawingIn) -> None:
    """`drawing`: the digest under which a page asked for it. 400: it is not the drawing of this line, with what is
    missing or too much. 404: no page asked for it. 409: it is drawn, or the server draws by itself."""
    try:
        drawings.store_drawing_of_browser(
            project, drawing, payload.model_dump(exclude_none=True, by_alias=True)
        )
    except NotTheDrawing as fault:
        raise Invalid.at(fault.place, str(fault), "Reload the page: it draws the line anew.") from fault
