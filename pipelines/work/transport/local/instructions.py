"""The instructions of a manual station, with their templates rendered."""

from __future__ import annotations

from pipelines.models import Job
from pipelines.queries import versions
from pipelines.work.orders.order import Unrenderable, rendered_text
from pipelines.work.transport.local.orders import job_orders


def rendered_instructions(job: Job) -> str:
    """Unrendered if something in them is undefined: a person can work with less than a program."""
    text = str(
        versions.parsed_line_by_version_id(job.pinned_id).station(job.station).work.get("instructions") or ""
    )
    if "{{" not in text:
        return text
    try:
        return rendered_text(job_orders(job), "instructions", text)
    except Unrenderable:
        return text
