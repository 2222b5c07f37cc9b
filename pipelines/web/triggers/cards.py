"""Triggers as pages show them: when they start tasks next, with what, and what they did last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from pipelines.models import Trigger, TriggerDelivery
from pipelines.queries import versions
from pipelines.queries.triggers import TriggerRow
from pipelines.web.tasks.uploads import file_name_of
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
class TriggerCard:
    """A trigger, its facts in words, its next runs and the latest rows of its log."""

    row: TriggerRow
    kind: str
    icon: str
    words: str
    zone: str
    offset: str
    facts: list[TriggerFact]
    runs: list[NextRun]
    inputs: list[tuple[str, str]]
    deliveries: list[DeliveryRow]

    @property
    def trigger(self) -> Trigger:
        return self.row.trigger


def card_of(row: TriggerRow, now: datetime) -> TriggerCard:
    trigger = row.trigger
    kind, options = KINDS[trigger.kind], trigger.options
    return TriggerCard(
        row,
        kind.label,
        kind.icon,
        kind.words(options),
        kind.zone(options),
        offset_of(now.astimezone(ZoneInfo(kind.zone(options)))),
        kind.facts(options),
        [] if trigger.paused_at else next_runs(kind, options, now),
        list(_inputs(trigger)),
        [delivery_row(delivery, trigger) for delivery in row.deliveries[:DELIVERIES]],
    )


def next_runs(kind: TriggerKind, options: Options, now: datetime) -> list[NextRun]:
    """Return the next runs of a trigger that starts tasks by the clock."""
    place = ZoneInfo(kind.zone(options))
    local = now.astimezone(place)
    current, year = offset_of(local), local.year
    runs = (at.astimezone(place) for at in islice(kind.upcoming(options, now), RUNS))
    return [
        NextRun(
            at,
            f"{at:%a} {at.day} {at:%b}" + (f" {at.year}" if at.year != year else ""),
            f"{at:%H:%M}",
            "" if offset_of(at) == current else offset_of(at),
        )
        for at in runs
    ]


def offset_of(at: datetime) -> str:
    """Say how far a local time is from UTC: “UTC+1”, “UTC+5:30”."""
    offset = at.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    hours, rest = divmod(abs(minutes), 60)
    return (
        "UTC" + (f"{'-' if minutes < 0 else '+'}{hours}" if minutes else "") + (f":{rest:02}" if rest else "")
    )


def delivery_row(delivery: TriggerDelivery, trigger: Trigger) -> DeliveryRow:
    """Return a row of the log. What a fault of the server wrote has no slot."""
    slot = None if delivery.key.startswith("fault") else KINDS[trigger.kind].occasion_at(delivery.key)
    return DeliveryRow(delivery, slot or delivery.at)


def _inputs(trigger: Trigger) -> Iterator[tuple[str, str]]:
    fields = versions.parsed(trigger.line.live).inputs if trigger.line.live else ()
    labels = {field.key: field.label or field.key for field in fields}
    for key, value in trigger.inputs.items():
        yield labels.get(key, key), _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    text = file_name_of(value) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
