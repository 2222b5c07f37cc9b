"""What a person at a manual station is told: its instructions, with their templates rendered."""

from __future__ import annotations

from pipelines.models import Job
from pipelines.queries import versions
from pipelines.work.orders.order import Unrenderable, rendered
from pipelines.work.transport.local.orders import orders_of


def instructions(job: Job) -> str:
    """As they are written where something in them is not defined: a person can do with less than a program."""
    text = str(versions.by_id(job.pinned_id).station(job.station).work.get("instructions") or "")
    if "{{" not in text:
        return text
    try:
        return rendered(orders_of(job), "instructions", text)
    except Unrenderable:
        return text
