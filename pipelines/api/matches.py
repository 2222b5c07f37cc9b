"""Counts of a station's recorded outcomes that its rules match, over HTTP: for the editor, of what is drawn."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pipelines.api.auth import Request
from pipelines.api.drafts import DRAFT
from pipelines.api.lookup import COSTS, Operations, costly_operation
from pipelines.api.schemas import StrictBody
from pipelines.engine.core import payload as payloads
from pipelines.errors import NotFound
from pipelines.models import Line
from pipelines.queries.rule_match_counts import StationMatches, count_station_matches
from pipelines.routing.document.line import read_line

router = Operations("drafts", COSTS)


class MatchesIn(StrictBody):
    """`document`: what is drawn, stored or not."""

    document: dict[str, Any]
    station: str = Field(max_length=200)


@router.post(
    DRAFT + "/matches",
    response=StationMatches,
    summary="How many recorded outcomes the rules of a station match",
)
@costly_operation
def count_recorded_matches(request: Request, line: Line, payload: MatchesIn) -> StationMatches:
    """Return the matches of each condition by itself, whatever the rules before it decide. Nothing is stored."""
    payloads.checked_digest(payload.document, "document")
    drawn = read_line(payload.document, keep_faulty_rules=True)
    if payload.station not in drawn.stations_by_key:
        raise NotFound("This line has no such station.")
    return count_station_matches(line, drawn, payload.station)
