"""Triggers as pages show them: when they start tasks next, with what, and what they did last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from pipelines.models import Trigger, TriggerDelivery, WebhookSecret
from pipelines.queries import versions
from pipelines.queries.triggers import TriggerRow, webhook_url_or_empty
from pipelines.web.tasks.uploads import uploaded_file_name_or_empty
from pipelines.work.triggers.kind import Options, TriggerFact, TriggerKind
from pipelines.work.triggers.table import KINDS

RUNS, DELIVERIES = 5, 5
MAX_VALUE = 200
"""Characters of an input on a card."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """Time of a schedule, in its own zone. `shift`: its offset from UTC, where that is another one than now."""

    at: datetime
    day: str
    time: str
    shift: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    delivery: TriggerDelivery
    at: datetime
    """When it was due."""


@dataclass(frozen=True, slots=True)
class MappedInput:
    """Path from which the value of an input is taken. `fixed`: what counts where that finds nothing."""

    label: str
    path: str
    fixed: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class TriggerCard:
    """A trigger, its facts in words, its next runs and the latest rows of its log. `offset`: of its zone from UTC, ""
    where it goes by no clock. `mapping`: what it takes from what comes with it. `hint`: the end of its secret."""

    row: TriggerRow
    kind: TriggerKind
    words: str
    detail: str
    offset: str
    facts: list[TriggerFact]
    runs: list[NextRun]
    inputs: list[tuple[str, str]]
    deliveries: list[DeliveryRow]
    mapping: list[MappedInput]
    address: str
    hint: str
    old_secrets: list[WebhookSecret]

    @property
    def trigger(self) -> Trigger:
        return self.row.trigger


def trigger_card(row: TriggerRow, now: datetime) -> TriggerCard:
    trigger = row.trigger
    kind, options = KINDS[trigger.kind], trigger.options_with_line_name
    mapping = list(_mapped_inputs(trigger)) if kind.is_mapped else []
    mapped = options["inputs"] if kind.is_mapped else ()
    secrets = list(trigger.secrets.all()) if kind.has_address else []
    return TriggerCard(
        row,
        kind,
        kind.words(options),
        kind.detail(options),
        utc_offset_text(now.astimezone(ZoneInfo(kind.clock.zone(options)))) if kind.clock else "",
        kind.facts(options),
        [] if trigger.paused_at else next_runs(kind, options, now),
        [(label, text) for key, label, text in _input_texts(trigger) if key not in mapped],
        [delivery_row(delivery, trigger) for delivery in row.deliveries[:DELIVERIES]],
        mapping,
        webhook_url_or_empty(trigger),
        next((secret.hint for secret in secrets if secret.valid_until is None), ""),
        [secret for secret in secrets if secret.valid_until and secret.valid_until > now],
    )


def next_runs(kind: TriggerKind, options: Options, now: datetime) -> list[NextRun]:
    """Return the next runs of a trigger that starts tasks by the clock."""
    if kind.clock is None:
        return []
    place = ZoneInfo(kind.clock.zone(options))
    local = now.astimezone(place)
    current, year = utc_offset_text(local), local.year
    runs = (at.astimezone(place) for at in islice(kind.starts_after(options, now), RUNS))
    return [
        NextRun(
            at,
            f"{at:%a} {at.day} {at:%b}" + (f" {at.year}" if at.year != year else ""),
            f"{at:%H:%M}",
            "" if utc_offset_text(at) == current else utc_offset_text(at),
        )
        for at in runs
    ]


def utc_offset_text(at: datetime) -> str:
    """Say how far a local time is from UTC: “UTC+1”, “UTC+5:30”."""
    offset = at.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    hours, rest = divmod(abs(minutes), 60)
    return (
        "UTC" + (f"{'-' if minutes < 0 else '+'}{hours}" if minutes else "") + (f":{rest:02}" if rest else "")
    )


def delivery_row(delivery: TriggerDelivery, trigger: Trigger) -> DeliveryRow:
    """Return a row of the log. What a fault of the server wrote has no slot."""
    place = KINDS[trigger.kind].clock
    slot = None if place is None or delivery.key.startswith("fault") else place.occasion_at(delivery.key)
    return DeliveryRow(delivery, slot or delivery.at)


def _input_texts(trigger: Trigger) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the name and the text of each input that is set."""
    fields = versions.parsed_version(trigger.line.live).inputs if trigger.line.live else ()
    labels = {field.key: field.label or field.key for field in fields}
    for key, value in trigger.inputs.items():
        yield key, labels.get(key, key), _value_text(value)


def _mapped_inputs(trigger: Trigger) -> Iterator[MappedInput]:
    options = trigger.options
    if options["title"]:
        yield MappedInput("Title", options["title"], trigger.title)
    fields = versions.parsed_version(trigger.line.live).inputs if trigger.line.live else ()
    by_key = {field.key: field for field in fields}
    fixed = {key: text for key, _label, text in _input_texts(trigger)}
    for key, path in options["inputs"].items():
        field = by_key.get(key)
        label = (field.label or key) if field else key
        yield MappedInput(label, path, fixed.get(key, ""), field is not None and field.required)
    if options["requester"]:
        yield MappedInput("Requested by", options["requester"])


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    text = uploaded_file_name_or_empty(value) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
