"""Waiting for a duration, or until a time."""

from __future__ import annotations

from pipelines.routing.document.work.keys import DurationKey, TextKey
from pipelines.routing.document.work.kind import CLOCK, Kind, NotBoth

KIND = Kind(
    key="wait",
    name="Wait",
    about="Continues when the time is up.",
    icon="timer",
    docs="kinds.md#wait",
    title="Wait",
    keys={
        "for": DurationKey(label="For", help="From when the task enters the station."),
        "until": TextKey(
            label="Until",
            help="A template that gives a time: 2031-05-06T07:08:09+02:00, or a date.",
            placeholder="{{input.when}}",
            asked="say for how long, or until when",
            spared=lambda work: "for" in work,
            longest=1_000,
            template=True,
            code=True,
        ),
    },
    not_both=NotBoth("for", "until", "a wait is for a duration or until a time, not both"),
    done_by=CLOCK,
    actor="timer",
    signed=lambda work: "",
    says=lambda station: str(station.work.get("until") or station.work.get("for", "")),
)
