"""Moments from which tasks were forked (law §17)."""

from __future__ import annotations

from datetime import datetime

from pipelines.models import Event, Task


def fork_time(task: Task) -> datetime:
    """Return the moment of the followed task with whose files a fork began."""
    assert task.fork_event is not None
    moments = Event.objects.filter(task=task.follows_id, seq=task.fork_event)
    return moments.values_list("at", flat=True).get()
