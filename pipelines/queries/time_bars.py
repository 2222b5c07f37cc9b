"""Bars of a timeline: how long work waited, ran and stood at gates, from the recorded jobs and gate visits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from pipelines.models import GateVisit, Job, Status, Token

BarTone = Literal["queued", "running", "waiting", "blocked", "failed", "stuck"]
INSTANT = timedelta(milliseconds=500)
"""Pauses between two records of one position that are no wait."""


@dataclass(frozen=True, slots=True)
class TimeBar:
    """Time in one state. `until`: None while it goes on. `lane`: which of several rows beside each other. `then`: how
    its position waits where nothing follows at once."""

    tone: BarTone
    since: datetime
    until: datetime | None
    label: str = ""
    lane: int = 0
    then: BarTone = "waiting"


AFTER_RESULT: Mapping[str, BarTone] = {"failure": "stuck", "blocked": "blocked"}
"""Tone of a wait after a run with that result: what a rule takes goes on at once."""


def _tone_of_wait(token: Token) -> BarTone:
    """Return the tone of a wait that goes on: a question to a person is no fault."""
    if token.status == Status.STUCK:
        return "stuck"
    return "blocked" if token.status == Status.BLOCKED and not token.asks_question else "waiting"


def job_bars(job: Job, label: str = "") -> list[TimeBar]:
    """Return the time until the job was started, and the time of its work. A person's work and a wait for a time are
    waits."""
    begun = job.started_at
    if begun is None:
        return [TimeBar("queued", job.created_at, job.ended_at, label)]
    # A runner that goes straight on starts its next job as it is made: no wait to draw
    waited = [TimeBar("queued", job.created_at, begun, label)] if begun - job.created_at > INSTANT else []
    tone: BarTone = "running"
    if job.kind in ("manual", "wait"):
        tone = "waiting"
    elif job.result == "failure":
        tone = "failed"
    return [*waited, TimeBar(tone, begun, job.ended_at, label, then=AFTER_RESULT.get(job.result, "waiting"))]


def was_stopped(job: Job) -> bool:
    """Return whether somebody ended its work before it was done: by a move, a cancellation, an escalation."""
    return job.result == "cancelled" and job.started_at is not None


def visit_bar(visit: GateVisit, label: str = "") -> TimeBar:
    return TimeBar("waiting", visit.opened_at, visit.decided_at, label)


def position_bars(token: Token, recorded: Iterable[TimeBar], fills: bool = True) -> list[TimeBar]:
    """Return the bars of one position with the waits between them, and the wait that goes on. `fills`: False of a
    position whose branches go on meanwhile."""
    bars = sorted(recorded, key=lambda bar: bar.since)
    # While its branches work, a forked position would seem to wait
    if not fills or not bars:
        return bars
    waits = [
        TimeBar(bar.then, bar.until, following.since)
        for bar, following in pairwise(bars)
        if bar.until is not None and following.since - bar.until > INSTANT
    ]
    last = bars[-1]
    if token.ended_at is None and last.until is not None:
        waits.append(TimeBar(_tone_of_wait(token), last.until, None))
    elif token.status in (Status.HELD, Status.BLOCKED, Status.STUCK) and last.until is None:
        # What is held before it begins has a job that is queued
        bars[-1] = replace(last, tone=_tone_of_wait(token))
    return sorted([*bars, *waits], key=lambda bar: bar.since)


def task_bars(
    tokens: Sequence[Token], jobs: Mapping[int, Sequence[TimeBar]], forked: Iterable[int] = ()
) -> list[TimeBar]:
    """Return the bars of all positions of a task, branches in lanes of their own. `jobs`: recorded bars by token;
    `forked`: ids of tokens that have branches."""
    parents = {token.parent_id for token in tokens} | set(forked)
    placed = []
    ends: list[datetime | None] = []
    lane_of: dict[int, int] = {}
    of_tokens = [
        (bar, token.pk)
        for token in tokens
        for bar in position_bars(token, jobs.get(token.pk, ()), token.pk not in parents)
    ]
    for bar, token_id in sorted(of_tokens, key=lambda item: (item[0].since, item[1])):
        # In its own lane as long as that is free, so that the eye can follow one branch
        lane = _preferred_or_free_lane(ends, bar.since, lane_of.get(token_id, 0))
        if lane == len(ends):
            ends.append(None)
        ends[lane], lane_of[token_id] = bar.until or datetime.max.replace(tzinfo=bar.since.tzinfo), lane
        placed.append(replace(bar, lane=lane))
    return placed


def _preferred_or_free_lane(ends: Sequence[datetime | None], since: datetime, preferred: int) -> int:
    free = [lane for lane, end in enumerate(ends) if end is None or end <= since]
    return preferred if preferred in free else min(free, default=len(ends))


def bars_by_token_id(bars: Iterable[tuple[int, TimeBar]]) -> dict[int, list[TimeBar]]:
    bars_by_token: defaultdict[int, list[TimeBar]] = defaultdict(list)
    for token_id, bar in bars:
        bars_by_token[token_id].append(bar)
    return bars_by_token
