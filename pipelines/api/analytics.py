"""The numbers of a line over HTTP: rules tested and taken, times, gates, policy."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import LINE, Operations
from pipelines.errors import NotFound
from pipelines.models import Line
from pipelines.queries import analytics as query

router = Operations("lines")
PATH = LINE + "/analytics"


class SpreadOut(BaseModel):
    """Seconds of `count` times."""

    count: int
    median: float
    p90: float


class UnusedRuleOut(BaseModel):
    """`can`: true with a `witness` that takes the rule, false with the `killers` that leave it nothing (none: its
    condition is never true), null with `why` it is not known."""

    tasks: int
    can: bool | None
    witness: dict[str, Any] | None
    killers: list[str]
    why: str


class RuleOut(BaseModel):
    """`number` is null for a rule that only other versions have."""

    id: str
    number: int | None
    label: str
    to: list[str]
    tested: int
    taken: int
    share: float
    last_taken: datetime | None
    never: UnusedRuleOut | None


class AppliedOut(BaseModel):
    knob: str
    outcomes: int


class StationOut(BaseModel):
    key: str
    name: str
    outcomes: int
    rules: list[RuleOut]
    waiting: SpreadOut | None
    working: SpreadOut | None
    gates: SpreadOut | None
    policy: list[AppliedOut]


class GateInsightsOut(BaseModel):
    key: str
    name: str
    visits: int
    open: int
    words: dict[str, int]
    deciding: SpreadOut | None


class NumbersOut(BaseModel):
    """`version` is null over all versions."""

    version: int | None
    tasks: int
    decisions: int
    stations: list[StationOut]
    gates: list[GateInsightsOut]
    policy: list[AppliedOut]


@router.get(PATH, response=NumbersOut, summary="What the recorded decisions say of a line")
def analytics(request: Request, line: Line, version: int | None = None) -> dict[str, Any]:
    """Return the numbers of one version, or of all. The rules listed are those of that version, else of the
    live one."""
    numbers = query.of_line(line, version)
    if numbers is None:
        raise NotFound("This line has no such version.")
    return _numbers_body(numbers)


def _numbers_body(numbers: query.LineInsights) -> dict[str, Any]:
    body = asdict(numbers)
    for part in (body, *body["stations"]):
        part["policy"] = [{"knob": knob, "outcomes": count} for knob, count in part["policy"]]
    return body
