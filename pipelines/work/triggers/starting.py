"""Start of a task by a trigger: one transaction for each occasion, in which its delivery is written (law §16)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction

from pipelines import access, engine
from pipelines.engine.commands.project_quotas import QuotaReached
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor
from pipelines.errors import Invalid, Refused
from pipelines.models import Task, Trigger, TriggerDelivery, WebhookAddress
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports import clock
from pipelines.queries import versions
from pipelines.routing.basics.values import MISSING
from pipelines.routing.basics.wording import people_text
from pipelines.work.statements import LOCK_DUE_TRIGGER
from pipelines.work.triggers import ended_task, host_events, mapping
from pipelines.work.triggers.kind import Occasion
from pipelines.work.triggers.table import KINDS

Outcome = TriggerDelivery.TriggerOutcome
RELATED = ("line__project__owner", "line__live", "changed_by", "written_by", "source")
"""What the start of a task reads of its trigger."""
NO_EXAMPLE = "Nothing came yet. Send something, or edit the trigger and paste an example."
NO_TASK = "No task of {line} has ended so yet."
FAULT = "Something went wrong on the server, so the trigger is paused. Its log says what. Resume it when that is fixed."


def start_due_trigger_and_return_outcome(trigger_id: int, now: datetime | None = None) -> str:
    """Start what is due of a trigger, and set its next time. Returns the outcome of the delivery, or `gone` where
    another worker was first, or it is not due any more. `now`: the database's clock, unless told."""
    return run_in_transaction(partial(_start_due_trigger_and_return_outcome, trigger_id, now))


def pause_and_record_fault(trigger_id: int, now: datetime | None = None) -> None:
    """Pause a trigger whose occasion failed by a fault of the server, and record that: else it would come back at once,
    forever."""
    run_in_transaction(partial(_pause_due_trigger, trigger_id, now))


def _start_due_trigger_and_return_outcome(trigger_id: int, now: datetime | None) -> str:
    due = _lock_due_trigger_and_moment_or_none(trigger_id, now)
    if due is None:
        return "gone"
    trigger, moment = due
    kind = KINDS[trigger.kind]
    assert trigger.next_at is not None and kind.clock is not None
    occasion = kind.clock.occasion(trigger.options, trigger.next_at, moment)
    # It may be there where the clock was set back, and the schedule changed since.
    delivery = start_unless_delivered(trigger, occasion, moment)
    trigger.next_at = kind.next_start_after_or_none(trigger.options, moment)
    trigger.save(update_fields=["next_at"])
    return str(delivery.outcome)


def start_unless_delivered(locked_trigger: Trigger, occasion: Occasion, moment: datetime) -> TriggerDelivery:
    """Start the task of an occasion and write its delivery, unless it was there already. The row of the trigger is
    locked by the caller."""
    delivery = TriggerDelivery(trigger=locked_trigger, key=occasion.key, at=moment)
    if TriggerDelivery.objects.filter(trigger=locked_trigger, key=occasion.key).exists():
        delivery.outcome, delivery.detail = Outcome.REPEATED, "It was there already, so nothing was started."
    else:
        _start_task(locked_trigger, occasion, delivery)
    delivery.save(force_insert=True)
    return delivery


def _pause_due_trigger(trigger_id: int, now: datetime | None) -> None:
    due = _lock_due_trigger_and_moment_or_none(trigger_id, now)
    if due is not None:
        trigger, moment = due
        key = f"fault {moment:%Y-%m-%dT%H:%M:%S.%fZ}"
        trigger.deliveries.create(key=key, at=moment, outcome=Outcome.FAILED, detail=FAULT)
        trigger.next_at, trigger.paused_at = None, moment
        trigger.save(update_fields=["next_at", "paused_at"])


def _lock_due_trigger_and_moment_or_none(
    trigger_id: int, now: datetime | None
) -> tuple[Trigger, datetime] | None:
    """Return the trigger if it is due, and the moment. house §2: its row is locked before the number counter and any
    task."""
    locked = fetch(LOCK_DUE_TRIGGER, {"trigger": trigger_id, "now": now})
    if not locked:
        return None
    return Trigger.objects.select_related(*RELATED).get(pk=trigger_id), locked[0][0]


def _start_task(trigger: Trigger, occasion: Occasion, delivery: TriggerDelivery) -> None:
    """Start the task, and write into the delivery what became of it."""
    delivery.outcome, delivery.detail = Outcome.IGNORED, occasion.refusal or _hindrance_or_empty(trigger)
    if delivery.detail:
        return
    delivery.outcome, delivery.detail = (
        Outcome.FAILED,
        occasion.fault or lost_right_sentence_or_empty(trigger),
    )
    if delivery.detail:
        return
    if trigger.line.live is None:
        delivery.detail = "The line has no published version. Publish it."
        return
    try:
        if reason := _mapped_refusal_or_empty(trigger, occasion):
            delivery.outcome, delivery.detail = Outcome.IGNORED, reason
            return
        with transaction.atomic():
            # In a savepoint: a refused start leaves nothing but its delivery.
            delivery.task = engine.submit(trigger.line.live, **task_request(trigger, occasion))
    except Refused as refused:
        delivery.detail = _refusal_words(trigger, refused)
    else:
        delivery.outcome, delivery.detail = Outcome.STARTED, occasion.note


def try_out_and_undo(trigger: Trigger, body: str = "") -> TriggerDelivery:
    """Start a task as the next occasion would, and undo it: what is said is what would happen. The delivery that is
    returned, and its task, are stored nowhere. `body`: what comes with it, unless that is the last that came."""
    kind, now = KINDS[trigger.kind], clock.now()
    zone = ZoneInfo(kind.clock.zone(trigger.options) if kind.clock else trigger.line.project.time_zone)
    refusal, document, fault = "", MISSING, ""
    if kind.is_mapped:
        text = body or latest_or_pasted_body(trigger)
        refusal = "" if text else NO_TASK.format(line=trigger.source) if trigger.source else NO_EXAMPLE
        document, fault = mapping.parsed_body_and_fault(text) if text else (MISSING, "")
    occasion = Occasion("", now.astimezone(zone), refusal, fault, document=document)
    delivery = TriggerDelivery(trigger=trigger, at=now)
    with transaction.atomic():
        _start_task(trigger, occasion, delivery)
        transaction.set_rollback(True)
    return delivery


def latest_or_pasted_body(trigger: Trigger) -> str:
    """Return what came last, or that somebody pasted; "" where there is none."""
    if KINDS[trigger.kind].has_source:
        return ended_task.latest_document_text(trigger)
    rows = WebhookAddress.objects.filter(trigger=trigger).values_list("example", flat=True)
    return rows.first() or ""


def _mapped_refusal_or_empty(trigger: Trigger, occasion: Occasion) -> str:
    """Say why what came with an occasion starts nothing, or ""."""
    if not KINDS[trigger.kind].is_mapped:
        return ""
    refusal = host_events.refusal_of_event_or_empty(trigger.options, occasion.document)
    return refusal or mapping.refusal_reason_or_empty(trigger.options, occasion.document)


def _hindrance_or_empty(trigger: Trigger) -> str:
    """Say why nothing starts though nothing is wrong, or ""."""
    if trigger.line.archived_at or trigger.line.project.archived_at:
        return "The line is archived."
    if not trigger.one_at_a_time:
        return ""
    running = Task.objects.filter(line=trigger.line_id, ended_at=None, trigger_deliveries__trigger=trigger)
    task = running.select_related("project").order_by("pk").first()
    return f"{task.name} has not ended yet." if task else ""


def lost_right_sentence_or_empty(trigger: Trigger) -> str:
    """Say who of those in whose name tasks start may not start any, with the remedy, or ""."""
    for person in (trigger.changed_by, trigger.written_by):
        if not access.is_permitted(person, "submit", trigger.line.project):
            return (
                f"{person} may no longer start tasks here, and these tasks start in their name."
                " Open the trigger, and save it in yours."
            )
    return ""


def task_request(trigger: Trigger, occasion: Occasion) -> Mapping[str, Any]:
    """Return what `engine.submit` starts a task with. Barred as requesters: whoever changed the trigger last, whoever
    wrote what it asks for, and those of the occasion. Raises Invalid: something in its document does not fit."""
    inputs, title = trigger.inputs, ""
    if KINDS[trigger.kind].is_mapped and trigger.line.live is not None:
        fields = versions.parsed_version(trigger.line.live).inputs
        inputs = {**inputs, **mapping.mapped_inputs(trigger.options, fields, occasion.document)}
        title = mapping.mapped_title_or_empty(trigger.options, occasion.document)
    title = title or trigger.title.replace("{date}", f"{occasion.title_at:%Y-%m-%d}")
    requesters = {f"person:{trigger.written_by_id}", *occasion.requesters}
    return {
        "actor": Actor.person(trigger.changed_by),
        "title": title or None,
        "inputs": inputs,
        "requesters": sorted(requesters - {f"person:{trigger.changed_by_id}"}),
        "follows": occasion.source,
    }


def _refusal_words(trigger: Trigger, refused: Refused) -> str:
    """Say why it was refused, with the names of inputs and not their keys, and the remedy."""
    detail = refused.detail
    if isinstance(refused, QuotaReached):
        return detail
    if isinstance(refused, Invalid) and trigger.line.live is not None:
        inputs = versions.parsed_version(trigger.line.live).inputs
        labels = {f"inputs.{field.key}": field.label or field.key for field in inputs}
        faults = (
            f"{labels.get(problem.path, problem.path.capitalize())} {people_text(problem.message)}".strip()
            for problem in refused.problems
        )
        detail = "; ".join(faults) + "."
    return f"{detail} Edit the trigger, or the start form of the line."
