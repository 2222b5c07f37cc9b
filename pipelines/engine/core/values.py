"""The values that the engine takes and returns."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal

from pipelines.models import Job, Purpose, Task, Token, User
from pipelines.ports.leases import WorkOffer
from pipelines.routing.decide.effects import counts_with_added


@dataclass(frozen=True)
class Actor:
    """Actor that caused something. Events keep `str(actor)`: `person:7`, `machine:3`, `worker:<uuid>`,
    `engine`."""

    kind: Literal["person", "machine", "worker", "engine"]
    id: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @classmethod
    def person(cls, user: User) -> Actor:
        return cls("person", str(user.pk), str(user))


ENGINE = Actor("engine", name="Gateline")


@dataclass(frozen=True)
class Report:
    """An outcome reported about a job (law §5 step 1).

    `lease` is None where no worker has the job: for a manual one, whose `token_version` is the one that the person
    saw, and for a wait that is over. `by` is `str(actor)`.
    `offer_for_next`: a driver that goes straight on gets the next job already leased, and no ticket is written.
    `observed_by`: who observed the outcome's `facts`; "" if no part of Gateline did, which makes them claims.
    """

    job_id: int
    attempt: int
    lease: uuid.UUID | None
    outcome: dict[str, Any]
    by: str
    token_version: int | None = None
    offer_for_next: WorkOffer | None = None
    observed_by: str = ""


@dataclass(frozen=True)
class ReportResult:
    """Result of one report. `http` is the status an API answers with: 200, 400, 404, 409 or 500.

    accepted · repeated (identical, the first answer again) · conflict (same job, attempt and lease, other
    payload) · ignored (not the token's open job) · invalid (`path` says where) · not_found · error (unexpected;
    nothing moved). `following`: the next job as it was written, its task loaded; None of a repeat."""

    status: Literal["accepted", "repeated", "conflict", "ignored", "invalid", "not_found", "error"]
    http: int
    detail: str = ""
    path: str = ""
    decision: str = ""
    next_job_id: int | None = None
    next_lease: uuid.UUID | None = None
    following: Job | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class VoteResult:
    """Result of a vote. `state` of the gate visit after it: open (more votes are needed) or decided. `moved`:
    this vote completed the decision and the task went on; `status` is the task's now. `answer`: what was
    then decided about it, as `decide` says it."""

    state: str
    moved: bool
    status: str
    at: datetime
    answer: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


# Data in events from which folding gives the row: a token's state, a job's name, counts.


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


def token_fields_for_event(token: Token) -> dict[str, Any]:
    """`join`: what the token brought, if it waits at a join."""
    state = {"id": token.id, **dict(zip(TOKEN_FIELDS, _fields(token), strict=True))}
    return {**state, "join": token.wait["join"]} if "join" in token.wait else state


def job_fields_for_event(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "station": job.station,
        "kind": job.kind,
        "visit": job.visit,
        "attempt": job.attempt,
        "state": job.state,
        **({"purpose": job.purpose} if job.purpose != Purpose.STATION else {}),
    }


def add_counts_to_task(task: Task, count: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """Add to the task's counters and return what was added, without empty entries."""
    for name, added in count.items():
        if added:
            setattr(task, name, counts_with_added(getattr(task, name), added))
    return {name: added for name, added in count.items() if added}
