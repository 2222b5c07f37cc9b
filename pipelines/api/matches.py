"""Counts of a station's recorded outcomes that its rules match, over HTTP: for the editor, of what is drawn."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from pipelines.api.auth import Request
from pipelines.api.drafts import DRAFT
from pipelines.api.lookup import COSTS, Operations, in_turn
from pipelines.api.schemas import StrictBody
from pipelines.engine.core import payload as payloads
from pipelines.errors import NotFound
from pipelines.models import Line
from pipelines.queries.rule_match_counts import MatchExample, RuleMatches, StationMatches, station_matches
from pipelines.routing.analysis.condition_matching import ConditionAnswer
from pipelines.routing.document.line import read_line

router = Operations("drafts", COSTS)


class MatchesIn(StrictBody):
    """`document`: what is drawn, stored or not."""

    document: dict[str, Any]
    station: str = Field(max_length=200)


class MatchExampleOut(BaseModel):
    """`values`: what the condition asked there, in words, and what it saw."""

    task: str
    title: str
    url: str
    matches: bool
    values: list[tuple[str, str]]


class MatchedOutcomeOut(BaseModel):
    """`run`: of the task at the station, from 1."""

    task: str
    title: str
    url: str
    run: int


class RuleMatchesOut(BaseModel):
    """`unknown` wait for an answer that nobody gave, `failed` cannot be evaluated. `why`: of the newest such. `takes`:
    of `matches` those that no rule above it matches; `instead`: the others by the rule that takes them, `shown`: a
    handful of these, the newest."""

    matches: int
    takes: int
    instead: dict[str, int]
    shown: list[MatchedOutcomeOut]
    unknown: int
    failed: int
    why: str
    example: MatchExampleOut | None


class StationMatchesOut(BaseModel):
    """`rules`: by id, those whose condition can be read. `outcomes`: of how many; besides them `aside` are decided by a
    signal or the policy before any rule, and `unread` do not fit the line. `untaken`: those that no rule matches."""

    rules: dict[str, RuleMatchesOut]
    outcomes: int
    aside: int
    unread: int
    untaken: int


@router.post(
    DRAFT + "/matches",
    response=StationMatchesOut,
    summary="How many recorded outcomes the rules of a station match",
)
@in_turn
def matches(request: Request, line: Line, payload: MatchesIn) -> StationMatchesOut:
    """Return the matches of each condition by itself, whatever the rules before it decide. Nothing is stored."""
    payloads.checked_digest(payload.document, "document")
    drawn = read_line(payload.document, keep_faulty_rules=True)
    if payload.station not in drawn.stations_by_key:
        raise NotFound("This line has no such station.")
    return _matches_out(station_matches(line, drawn, payload.station))


def _matches_out(recorded_matches: StationMatches) -> StationMatchesOut:
    return StationMatchesOut(
        rules={rule_matches.rule: _rule_out(rule_matches) for rule_matches in recorded_matches.rules},
        outcomes=recorded_matches.outcomes,
        aside=recorded_matches.aside,
        unread=recorded_matches.unread,
        untaken=recorded_matches.untaken,
    )


def _rule_out(rule_matches: RuleMatches) -> RuleMatchesOut:
    return RuleMatchesOut(
        matches=rule_matches.counts[ConditionAnswer.MATCHES],
        takes=rule_matches.takes,
        instead=dict(rule_matches.instead),
        shown=[
            MatchedOutcomeOut(task=o.task, title=o.title, url=o.url, run=o.run) for o in rule_matches.shown
        ],
        unknown=rule_matches.counts[ConditionAnswer.UNKNOWN],
        failed=rule_matches.counts[ConditionAnswer.FAILED],
        why=rule_matches.why,
        example=_example_out(rule_matches.example) if rule_matches.example else None,
    )


def _example_out(example: MatchExample) -> MatchExampleOut:
    return MatchExampleOut(
        task=example.task,
        title=example.title,
        url=example.url,
        matches=example.matches,
        values=example.values,
    )
