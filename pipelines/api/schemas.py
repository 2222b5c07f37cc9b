# ruff: noqa: N815 - the names are ALP's
"""Schemas of the API. A task answers under the names of ALP's TaskData, with Gateline's own beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from pipelines.errors import Invalid
from pipelines.models import GateVisit, Line, LineVersion, PublishRequest, Retention, Status, Task
from pipelines.queries import versions
from pipelines.queries.failures import failure_reason_by_task
from pipelines.queries.unmerged import unmerged_among
from pipelines.routing.basics import jsontext

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)')
"""Texts, so that nothing in them counts, and numbers."""
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class StrictBody(BaseModel):
    """A request body: an unknown key is an error that names itself."""

    model_config = ConfigDict(extra="forbid")


class TaskIn(StrictBody):
    """`title`: made from the inputs where it is left out. `columnId`, as ALP has it: the station where every task
    of the line starts, or nothing."""

    title: Title | None = None
    description: str = ""
    priority: Literal["low", "medium", "high"] = "medium"
    inputs: dict[str, Any] = {}
    labels: list[Annotated[str, StringConstraints(max_length=100)]] = Field(default=[], max_length=50)
    due_at: AwareDatetime | None = None
    depends_on: list[str] = Field(default=[], max_length=50)
    follows: str = ""
    columnId: str | None = None


class TaskOut(BaseModel):
    """`columnId`: the station of its first living token. `visit` and `evidence`: of the gate visit that is open at
    `pendingGateId`; a vote names one of them. `error`: the named error by which it is stuck, or ended. `reason`: why it
    was rejected, cancelled, aborted, or failed. `forkEvent`: the event of the task that it follows, from which it was
    forked. `unmerged`: it completed,
    and its change was delivered nowhere. `retention`: what is left of it, `all`, or `record` where the retention of the
    project deleted logs and files, or `tombstone` where it purged the task, at `purgedAt`. Times in Unix milliseconds,
    as ALP has them; of its other fields `order` is the number of the task, and there is no `assemblyLineRepo`."""

    id: str
    owner: str
    projectId: str
    stageId: str
    title: str
    description: str
    columnId: str | None
    order: int
    priority: str
    labels: list[str]
    pendingGateId: str | None
    assemblyLineRepo: dict[str, Any] | None = None
    visit: str | None
    evidence: str | None
    follows: str | None
    forkEvent: int | None
    status: str
    display_status: str
    error: str | None
    reason: str | None
    end: str | None
    unmerged: bool
    inputs: dict[str, Any]
    context: dict[str, Any]
    version: int
    events: int
    createdAt: int
    updatedAt: int
    endedAt: int | None
    retention: str
    purgedAt: int | None


class CancelIn(StrictBody):
    reason: str = ""


class RetryIn(StrictBody):
    """`station`: which one, where several positions of the task wait; of a task that has ended, where to start."""

    reason: str = ""
    station: str = ""


class GateIn(StrictBody):
    """A decision at a gate. `visit` or `evidence` names what was looked at. Without both it counts only at the first
    visit of this gate by the task. `fields`: what an approval fills in, by the keys of the gate's fields. `inPlaceOf`:
    the user name of whoever is away and stood in for; without it their own place, if the gate asks them."""

    action: str
    reason: str = ""
    route: str = ""
    fields: dict[str, Any] = {}
    visit: str | None = None
    evidence: str | None = None
    inPlaceOf: str = ""


class GateOut(BaseModel):
    """`state`: `open` while more votes are needed, else `decided`."""

    gate: str
    visit: str
    action: str
    state: str
    decidedAt: str
    task: TaskOut


class LineLimit(StrictBody):
    """Limit of the tasks of a line that are open at once. `key`: a path over the inputs, such as inputs.branch: those
    with the same value are counted together. `over`: one task more waits (queue), or replaces the oldest (replace)."""

    tasks: int
    key: str = ""
    over: str = "queue"


class LineOut(BaseModel):
    """`limit`: null where any number of its tasks may be open."""

    key: str
    name: str
    live: int | None
    draft: int
    archived: bool
    limit: LineLimit | None

    @classmethod
    def of(cls, line: Line) -> LineOut:
        live = line.live
        return cls(
            key=line.key,
            name=line.name,
            live=live.number if live else None,
            draft=line.draft_number,
            archived=line.archived_at is not None,
            limit=None
            if line.limit_tasks is None
            else LineLimit(tasks=line.limit_tasks, key=line.limit_key, over=line.limit_over),
        )


class VersionOut(BaseModel):
    number: int
    name: str
    digest: str
    law: int
    revision: int
    published_at: datetime
    published_by: str | None

    @classmethod
    def of(cls, version: LineVersion) -> VersionOut:
        by = version.published_by
        return cls(
            number=version.number,
            name=version.name,
            digest=version.digest,
            law=version.law,
            revision=version.revision,
            published_at=version.published_at,
            published_by=str(by) if by else None,
        )


class PublishIn(StrictBody):
    """`draft` is the number of the draft that was looked at: another one is refused (409). `acknowledge`: the checks
    whose warnings were seen, of those that are asked for here: `silent-jumps`."""

    draft: int
    name: str = ""
    acknowledge: list[str] = Field(default_factory=list, max_length=20)


class PublishRequestOut(BaseModel):
    """A draft that another designer has to publish, where a protection says so. `state`: open, published, sent_back
    with a `reason`, or replaced."""

    draft: int
    name: str
    state: str
    requested_by: str
    requested_at: datetime
    decided_by: str | None
    reason: str

    @classmethod
    def of(cls, request: PublishRequest) -> PublishRequestOut:
        return cls(
            draft=request.draft,
            name=request.name,
            state=request.state,
            requested_by=str(request.requested_by),
            requested_at=request.requested_at,
            decided_by=str(request.decided_by) if request.decided_by else None,
            reason=request.reason,
        )


class SendBackIn(StrictBody):
    """`draft`: the number of the draft that was looked at."""

    draft: int = Field(ge=0, le=2**31 - 1)
    reason: str


class DecisionOut(BaseModel):
    """Decision that explains why a task is where it is: what was read, what was decided, every rule that was
    tried."""

    id: str
    at: datetime
    station: str
    cause: str
    version: int
    situation: dict[str, Any]
    decision: dict[str, Any]
    trace: list[dict[str, Any]]
    revision: int
    micros: int


def unix_milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def tasks_out(tasks: Sequence[Task]) -> list[TaskOut]:
    """The failures of all cost one statement; prefetched `tokens` and `gate_visits` are used as they are."""
    task_failures = failure_reason_by_task(
        task.pk for task in tasks if task.status == Status.FAILED and not task.reason
    )
    unmerged = unmerged_among(tasks)
    return [
        _task_out(task, task_failures[task.pk].text if task.pk in task_failures else "", task.pk in unmerged)
        for task in tasks
    ]


def task_out(task: Task) -> TaskOut:
    return tasks_out([task])[0]


def _task_out(task: Task, failure: str, unmerged: bool) -> TaskOut:
    living = [token for token in task.tokens.all() if token.ended_at is None and not token.forked]
    token = min(living, key=lambda candidate: candidate.pk, default=None)
    asking = [visit for visit in task.gate_visits.all() if visit.state == GateVisit.State.OPEN]
    # ALP has one field for it: of several open gates the one that opened first
    gate = min(asking, key=lambda visit: (visit.opened_at, visit.position), default=None)
    return TaskOut(
        id=task.name,
        owner=task.project.owner.key,
        projectId=task.project.key,
        stageId=task.line.key,
        title=task.title,
        description=task.description,
        columnId=token.station if token else None,
        order=task.number,
        priority=task.priority,
        labels=task.labels,
        pendingGateId=gate.gate if gate else None,
        visit=str(gate.pk) if gate else None,
        evidence=gate.evidence_digest if gate else None,
        follows=task.followed_name or None,
        forkEvent=task.fork_event,
        status=task.status,
        display_status=task.display_status,
        error=task.error or next((token.error for token in living if token.error), None),
        reason=(task.reason or failure) or None,
        end=task.end or None,
        unmerged=unmerged,
        inputs=versions.inputs_with_secrets_hidden(task.pinned_id, task.inputs),
        context=task.context,
        version=task.pinned.number,
        events=task.seq,
        createdAt=unix_milliseconds(task.created_at),
        updatedAt=unix_milliseconds(task.changed_at),
        endedAt=unix_milliseconds(task.ended_at) if task.ended_at else None,
        retention=Retention(task.retention).name.lower(),
        purgedAt=unix_milliseconds(task.purged_at) if task.purged_at else None,
    )


def refuse_rounded(request: HttpRequest) -> None:
    """Refuse a body with a number that its reading rounded. Raises Invalid naming the number."""
    for token in _TOKEN.finditer(request.body):
        digits = (token["number"] or b"").decode()
        if digits and isinstance(jsontext.parse_number(digits), Decimal):
            raise Invalid.at(
                "document",
                f"{digits[:60]} has more digits than a number keeps here",
                "Write it as a text, in quotes.",
            )


def body_text(request: HttpRequest) -> str:
    """A body that is a document. Raises Invalid."""
    try:
        return request.body.decode()
    except UnicodeDecodeError as fault:
        raise Invalid.at("", f"is not UTF-8 text, starting at byte {fault.start}") from fault
