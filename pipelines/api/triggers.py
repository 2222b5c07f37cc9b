"""Triggers over HTTP: what starts tasks of a line by itself, and what became of each occasion (law §16)."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from pydantic import BaseModel, Field

from pipelines.api.auth import Request, person_of
from pipelines.api.lookup import COSTS, LINE, PROJECT, Operations, action_required, saving_in_turn
from pipelines.api.schemas import StrictBody
from pipelines.errors import Invalid, existing
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Project, Trigger, TriggerDelivery
from pipelines.ports import clock
from pipelines.queries import triggers as queries
from pipelines.queries.triggers import TriggerRow
from pipelines.work.triggers import starting
from pipelines.work.triggers.table import KINDS

router = Operations("triggers", COSTS)
TRIGGERS = LINE + "/triggers"
TRIGGER = TRIGGERS + "/{line_trigger}"
# The largest id that the column can hold
LARGEST = 2**63 - 1
NEXT_RUNS, MAX_DELIVERIES = 5, 200


class TriggerIn(StrictBody):
    """`options` of a schedule: `cron` (minute, hour, day of the month, month, weekday), `zone` (such as Europe/Berlin,
    else UTC) and `missed` (once, else skip). `title`: `{date}` becomes the day of the run; made from the inputs where
    it is left out."""

    kind: str = "schedule"
    options: dict[str, Any] = Field(examples=[{"cron": "0 2 * * *", "zone": "Europe/Berlin"}])
    title: str = ""
    inputs: dict[str, Any] = {}
    one_at_a_time: bool = True


class TriggerDeliveryOut(BaseModel):
    """`outcome`: started, ignored, failed or repeated; `detail`: why, and what to do. The last `id` is `before` of the
    next request."""

    id: int
    key: str
    at: datetime
    outcome: str
    detail: str
    task: str | None

    @classmethod
    def of(cls, delivery: TriggerDelivery) -> TriggerDeliveryOut:
        return cls(
            id=delivery.pk,
            key=delivery.key,
            at=delivery.at,
            outcome=delivery.outcome,
            detail=delivery.detail,
            task=delivery.task.name if delivery.task else None,
        )


class TriggerOut(BaseModel):
    """`changed_by`: the user name in whose name its tasks start. `next_runs`: none while it is paused."""

    id: int
    line: str
    kind: str
    words: str
    options: dict[str, Any]
    title: str
    inputs: dict[str, Any]
    one_at_a_time: bool
    paused_at: datetime | None
    next_at: datetime | None
    next_runs: list[datetime]
    changed_by: str
    last: TriggerDeliveryOut | None


class TriedOut(BaseModel):
    """`title`: of the task that it would start, else null."""

    outcome: str
    detail: str
    title: str | None


@router.get(PROJECT + "/triggers", response=list[TriggerOut], summary="Triggers of a project")
def of_project(request: Request, project: Project) -> list[TriggerOut]:
    return _all(queries.rows(queries.of_project(project), 1))


@router.get(TRIGGERS, response=list[TriggerOut], summary="Triggers of a line")
def index(request: Request, line: Line) -> list[TriggerOut]:
    return _all(queries.rows(queries.of_line(line), 1))


@router.post(TRIGGERS, response={201: TriggerOut}, summary="Let a trigger start tasks")
@action_required("submit")
@saving_in_turn
def create(request: Request, line: Line, payload: TriggerIn) -> TriggerOut:
    """Its tasks start in the name of the person whose token it is: a machine makes none (403)."""
    person = person_of(request.auth)
    made = triggers.add(line, payload.kind, _request(payload), by=person)
    return _out(TriggerRow(made), clock.now())


@router.get(TRIGGER, response=TriggerOut, summary="Look at a trigger")
def show(request: Request, line: Line, line_trigger: int) -> TriggerOut:
    return _one(line, line_trigger)


@router.put(TRIGGER, response=TriggerOut, summary="Change a trigger")
@action_required("submit")
@saving_in_turn
def change(request: Request, line: Line, line_trigger: int, payload: TriggerIn) -> TriggerOut:
    """Replaces it. Its tasks then start in the name of the person whose token it is. A paused one stays paused."""
    person, trigger = person_of(request.auth), _trigger(line, line_trigger)
    if payload.kind != trigger.kind:
        raise Invalid.at("kind", "cannot be changed", "Make another trigger.")
    triggers.change(trigger, _request(payload), by=person)
    return _one(line, line_trigger)


@router.delete(TRIGGER, response={204: None}, summary="Delete a trigger")
@action_required("submit")
def delete(request: Request, line: Line, line_trigger: int) -> None:
    """Its log goes with it; its tasks stay."""
    triggers.delete(_trigger(line, line_trigger), by=person_of(request.auth))


@router.post(TRIGGER + "/pause", response=TriggerOut, summary="Pause a trigger")
@action_required("submit")
def pause(request: Request, line: Line, line_trigger: int) -> TriggerOut:
    """It starts nothing, and owes nothing."""
    triggers.pause(_trigger(line, line_trigger), True, by=person_of(request.auth))
    return _one(line, line_trigger)


@router.post(TRIGGER + "/resume", response=TriggerOut, summary="Resume a trigger")
@action_required("submit")
def resume(request: Request, line: Line, line_trigger: int) -> TriggerOut:
    """Its next run is the next one from now, in the name of the person whose token it is."""
    triggers.pause(_trigger(line, line_trigger), False, by=person_of(request.auth))
    return _one(line, line_trigger)


@router.post(TRIGGER + "/try", response=TriedOut, summary="Try a trigger")
@action_required("submit")
@saving_in_turn
def try_out(request: Request, line: Line, line_trigger: int) -> TriedOut:
    """Answers what it would start now, and starts nothing."""
    tried = starting.try_out(_trigger(line, line_trigger))
    return TriedOut(
        outcome=tried.outcome, detail=tried.detail, title=tried.task.title if tried.task else None
    )


@router.get(
    TRIGGER + "/deliveries", response=list[TriggerDeliveryOut], summary="What became of each occasion"
)
def deliveries(
    request: Request, line: Line, line_trigger: int, before: int = 0, limit: int = 50
) -> list[TriggerDeliveryOut]:
    """Newest first, at most 200 at a time; `before` is the id of the last one seen."""
    rows = _trigger(line, line_trigger).deliveries.select_related("task__project").order_by("-pk")
    if 0 < before <= LARGEST:
        rows = rows.filter(pk__lt=before)
    return [TriggerDeliveryOut.of(row) for row in rows[: min(max(limit, 1), MAX_DELIVERIES)]]


def _trigger(line: Line, pk: int) -> Trigger:
    """Raises NotFound."""
    return existing(queries.of_line(line).filter(pk=pk if 0 < pk <= LARGEST else 0))


def _request(payload: TriggerIn) -> TriggerRequest:
    return TriggerRequest(payload.options, payload.title, payload.inputs, one_at_a_time=payload.one_at_a_time)


def _one(line: Line, pk: int) -> TriggerOut:
    [row] = queries.rows([_trigger(line, pk)], 1)
    return _out(row, clock.now())


def _all(rows: list[TriggerRow]) -> list[TriggerOut]:
    now = clock.now()
    return [_out(row, now) for row in rows]


def _out(row: TriggerRow, now: datetime) -> TriggerOut:
    trigger, options = row.trigger, row.trigger.options
    runs = [] if trigger.paused_at else islice(KINDS[trigger.kind].upcoming(options, now), NEXT_RUNS)
    return TriggerOut(
        id=trigger.pk,
        line=trigger.line.key,
        kind=trigger.kind,
        words=triggers.words_of(trigger),
        options=options,
        title=trigger.title,
        inputs=trigger.inputs,
        one_at_a_time=trigger.one_at_a_time,
        paused_at=trigger.paused_at,
        next_at=trigger.next_at,
        next_runs=list(runs),
        changed_by=trigger.changed_by.username,
        last=TriggerDeliveryOut.of(row.last) if row.last else None,
    )
