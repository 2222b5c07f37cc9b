"""Data in events from which folding gives the row: a token's state, a job's name, counts."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from pipelines.models import Job, Purpose, Task, Token
from pipelines.routing.decide.effects import add_counts

TOKEN_FIELDS = (
    "parent_id",
    "station",
    "status",
    "version",
    "origin",
    "forked",
    "signal_reworks",
    "error",
    "end",
    "joined_id",
)

_fields = attrgetter(*TOKEN_FIELDS)


def token_state(token: Token) -> dict[str, Any]:
    """`join`: what the token brought, if it waits at a join."""
    state = {"id": token.id, **dict(zip(TOKEN_FIELDS, _fields(token), strict=True))}
    return {**state, "join": token.wait["join"]} if "join" in token.wait else state


def job_ref(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "station": job.station,
        "kind": job.kind,
        "visit": job.visit,
        "attempt": job.attempt,
        "state": job.state,
        **({"purpose": job.purpose} if job.purpose != Purpose.STATION else {}),
    }


def merge_counts(task: Task, count: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """Add to the task's counters and return what was added, without empty entries."""
    for name, added in count.items():
        if added:
            setattr(task, name, add_counts(getattr(task, name), added))
    return {name: added for name, added in count.items() if added}
