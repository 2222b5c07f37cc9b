"""The numbers of a line over HTTP: rules tested and taken, times, gates, policy."""

from __future__ import annotations

from pipelines.api.auth import Request
from pipelines.api.lookup import LINE, Operations
from pipelines.errors import NotFound
from pipelines.models import Line
from pipelines.queries import analytics as query

router = Operations("lines")


@router.get(
    LINE + "/analytics", response=query.LineInsights, summary="What the recorded decisions say of a line"
)
def analytics(request: Request, line: Line, version: int | None = None) -> query.LineInsights:
    """Return the numbers of one version, or of all. The rules listed are those of that version, else of the
    live one."""
    numbers = query.line_insights_or_none(line, version)
    if numbers is None:
        raise NotFound("This line has no such version.")
    return numbers
