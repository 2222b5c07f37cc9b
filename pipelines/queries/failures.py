"""Why tasks failed to which nobody gave a reason: what their last station said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models.fields.json import KT

from pipelines.models import Job, Purpose

LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class LastWords:
    """`key`: the text is the type of the failure, which is no sentence."""

    text: str
    key: bool = False


def failures(task_ids: Iterable[int]) -> dict[int, LastWords]:
    """The summary, else the reason or the type of the failure, of the last job that was done; one statement."""
    ids = list(task_ids)
    if not ids:
        return {}
    jobs = Job.objects.filter(task__in=ids, purpose=Purpose.STATION, state=Job.State.DONE)
    rows = (
        jobs.order_by("task_id", "-ended_at", "-pk")
        .distinct("task_id")
        .values_list("task_id", "summary", KT("outcome__reason"), KT("outcome__failure_type"))
    )
    return {task: _failure(summary or reason, failure_type) for task, summary, reason, failure_type in rows}


def _failure(text: str | None, failure_type: str | None) -> LastWords:
    return LastWords((text or failure_type or "")[:LONGEST], key=not text and bool(failure_type))
