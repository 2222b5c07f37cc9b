"""Triggers over HTTP: what starts tasks of a line by itself, and what became of each occasion (law §16)."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from pydantic import BaseModel, Field

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import COSTS, LINE, PROJECT, Operations, action_required, saving_in_turn
from pipelines.api.schemas import StrictBody
from pipelines.errors import Invalid, first_row_or_raise_not_found
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Line, Project, Trigger, TriggerDelivery
from pipelines.ports import clock
from pipelines.queries import triggers as queries
from pipelines.queries.triggers import TriggerRow
from pipelines.work.hosts import standard_webhooks
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
    else UTC) and `missed` (once, else skip). Of a webhook: `name`, `signature` (standard, github, gitlab or gitea), the
    `event` of a host that it waits for with `branch`, `files`, `author` and `label`, and the paths of what is taken
    from the body, JSONPath or a dotted key: `inputs` by key, `title`, `requester` and `only_if`. Of the end of another
    line (`line_end`): `line`, the key of that line, `state` (completed, failed, cancelled or any) and the same paths
    but `requester`, into the task that ended. `title`: `{date}` becomes the day of the run; made from the inputs where
    it is left out. `secret`: of a new webhook; made where it is left out. `one_at_a_time`: true for a schedule, else
    false, where it is left out."""

    kind: str = "schedule"
    options: dict[str, Any] = Field(examples=[{"cron": "0 2 * * *", "zone": "Europe/Berlin"}])
    title: str = ""
    inputs: dict[str, Any] = {}
    one_at_a_time: bool | None = None
    secret: str = ""


class SecretIn(StrictBody):
    """`secret`: made where it is left out. `at_once`: the one before it is not valid for a day more."""

    secret: str = ""
    at_once: bool = False


class TryIn(StrictBody):
    """`body`: what comes with an occasion, as JSON text; where it is left out, the last that came."""

    body: str = ""


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
    """`changed_by`: the user name in whose name its tasks start. `next_runs`: none while it is paused. `address`, of a
    webhook: for those who may change it. `secret`: only in the answer that made it."""

    id: int
    line: str
    kind: str
    words: str
    detail: str
    options: dict[str, Any]
    title: str
    inputs: dict[str, Any]
    one_at_a_time: bool
    paused_at: datetime | None
    next_at: datetime | None
    next_runs: list[datetime]
    changed_by: str
    last: TriggerDeliveryOut | None
    address: str = ""
    secret: str = ""


class TriedOut(BaseModel):
    """`title`: of the task that it would start, else null."""

    outcome: str
    detail: str
    title: str | None


@router.get(PROJECT + "/triggers", response=list[TriggerOut], summary="Triggers of a project")
def list_triggers_of_project(request: Request, project: Project) -> list[TriggerOut]:
    return _trigger_outs(request, project, queries.trigger_rows(queries.triggers_of_project(project), 1))


@router.get(TRIGGERS, response=list[TriggerOut], summary="Triggers of a line")
def index(request: Request, line: Line) -> list[TriggerOut]:
    return _trigger_outs(request, line.project, queries.trigger_rows(queries.triggers_of_line(line), 1))


@router.post(TRIGGERS, response={201: TriggerOut}, summary="Let a trigger start tasks")
@action_required("submit")
@saving_in_turn
def create(request: Request, line: Line, payload: TriggerIn) -> TriggerOut:
    """Its tasks start in the name of the person whose token it is: a machine makes none (403)."""
    person, made_request = require_person(request.auth), _trigger_request(payload)
    made = triggers.add_trigger(line, payload.kind, made_request, by=person)
    answer = _trigger_row_out(TriggerRow(_get_trigger(line, made.pk)), clock.now())
    return answer.model_copy(update={"secret": made_request.secret}) if answer.address else answer


@router.get(TRIGGER, response=TriggerOut, summary="Look at a trigger")
def show(request: Request, line: Line, line_trigger: int) -> TriggerOut:
    return _trigger_out(request, line, line_trigger)


@router.put(TRIGGER, response=TriggerOut, summary="Change a trigger")
@action_required("submit")
@saving_in_turn
def change(request: Request, line: Line, line_trigger: int, payload: TriggerIn) -> TriggerOut:
    """Replaces it. Its tasks then start in the name of the person whose token it is. A paused one stays paused."""
    person, trigger = require_person(request.auth), _get_trigger(line, line_trigger)
    # Its options and each occasion in its log are of this kind
    if payload.kind != trigger.kind:
        raise Invalid.at("kind", "cannot be changed", "Make another trigger.")
    triggers.change_trigger(trigger, _trigger_request(payload), by=person)
    return _trigger_out(request, line, line_trigger)


@router.delete(TRIGGER, response={204: None}, summary="Delete a trigger")
@action_required("submit")
def delete(request: Request, line: Line, line_trigger: int) -> None:
    """Its log goes with it; its tasks stay."""
    triggers.delete_trigger(_get_trigger(line, line_trigger), by=require_person(request.auth))


@router.post(TRIGGER + "/pause", response=TriggerOut, summary="Pause a trigger")
@action_required("submit")
def pause(request: Request, line: Line, line_trigger: int) -> TriggerOut:
    """It starts nothing, and owes nothing."""
    triggers.set_paused(_get_trigger(line, line_trigger), True, by=require_person(request.auth))
    return _trigger_out(request, line, line_trigger)


@router.post(TRIGGER + "/resume", response=TriggerOut, summary="Resume a trigger")
@action_required("submit")
def resume(request: Request, line: Line, line_trigger: int) -> TriggerOut:
    """Its next run is the next one from now, in the name of the person whose token it is."""
    triggers.set_paused(_get_trigger(line, line_trigger), False, by=require_person(request.auth))
    return _trigger_out(request, line, line_trigger)


@router.post(TRIGGER + "/try", response=TriedOut, summary="Try a trigger")
@action_required("submit")
@saving_in_turn
def try_trigger_without_starting(
    request: Request, line: Line, line_trigger: int, payload: TryIn | None = None
) -> TriedOut:
    """Answers what it would start now, and starts nothing."""
    body = payload.body if payload else ""
    tried = starting.try_out_and_undo(_get_trigger(line, line_trigger), body)
    return TriedOut(
        outcome=tried.outcome, detail=tried.detail, title=tried.task.title if tried.task else None
    )


@router.post(TRIGGER + "/rotate", response=TriggerOut, summary="Change the secret of a webhook")
@action_required("submit")
@saving_in_turn
def rotate_trigger_secret(request: Request, line: Line, line_trigger: int, payload: SecretIn) -> TriggerOut:
    """The one before it stays valid for 24 hours. Answers the new one, this once."""
    secret = payload.secret or standard_webhooks.new_secret()
    triggers.rotate_trigger_secret(
        _get_trigger(line, line_trigger), secret, at_once=payload.at_once, by=require_person(request.auth)
    )
    return _trigger_out(request, line, line_trigger).model_copy(update={"secret": secret})


@router.get(
    TRIGGER + "/deliveries", response=list[TriggerDeliveryOut], summary="What became of each occasion"
)
def list_trigger_deliveries(
    request: Request, line: Line, line_trigger: int, before: int = 0, limit: int = 50
) -> list[TriggerDeliveryOut]:
    """Newest first, at most 200 at a time; `before` is the id of the last one seen."""
    rows = _get_trigger(line, line_trigger).deliveries.select_related("task__project").order_by("-pk")
    if 0 < before <= LARGEST:
        rows = rows.filter(pk__lt=before)
    return [TriggerDeliveryOut.of(row) for row in rows[: min(max(limit, 1), MAX_DELIVERIES)]]


def _get_trigger(line: Line, pk: int) -> Trigger:
    """Raises NotFound."""
    # 0 is nobody's: beyond a bigint PostgreSQL would refuse the number
    return first_row_or_raise_not_found(
        queries.triggers_of_line(line).filter(pk=pk if 0 < pk <= LARGEST else 0)
    )


def _trigger_request(payload: TriggerIn) -> TriggerRequest:
    has_address = payload.kind in KINDS and KINDS[payload.kind].has_address
    return TriggerRequest(
        payload.options,
        payload.title,
        payload.inputs,
        one_at_a_time=payload.one_at_a_time,
        # Never without one: whoever learned the address could start tasks
        secret=(payload.secret or standard_webhooks.new_secret()) if has_address else "",
    )


def _trigger_out(request: Request, line: Line, pk: int) -> TriggerOut:
    [answer] = _trigger_outs(request, line.project, queries.trigger_rows([_get_trigger(line, pk)], 1))
    return answer


def _trigger_outs(request: Request, project: Project, rows: list[TriggerRow]) -> list[TriggerOut]:
    now, may_change = clock.now(), access.is_permitted(request.auth, "submit", project)
    return [_trigger_row_out(row, now, may_change) for row in rows]


def _trigger_row_out(row: TriggerRow, now: datetime, may_change: bool = True) -> TriggerOut:
    trigger, options = row.trigger, row.trigger.options
    kind = KINDS[trigger.kind]
    return TriggerOut(
        id=trigger.pk,
        line=trigger.line.key,
        kind=trigger.kind,
        words=triggers.trigger_name(trigger),
        detail=kind.detail(trigger.options_with_line_name),
        options=options,
        title=trigger.title,
        inputs=trigger.inputs,
        one_at_a_time=trigger.one_at_a_time,
        paused_at=trigger.paused_at,
        next_at=trigger.next_at,
        next_runs=[] if trigger.paused_at else list(islice(kind.starts_after(options, now), NEXT_RUNS)),
        changed_by=trigger.changed_by.username,
        last=TriggerDeliveryOut.of(row.last_delivery) if row.last_delivery else None,
        address=queries.webhook_url_or_empty(trigger) if may_change else "",
    )
