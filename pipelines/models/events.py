"""The append-only record: events, and the decisions that they tell of. Triggers refuse update and delete.

A foreign key has no index of its own where a unique constraint begins with it: every move would write both."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from pipelines.models.lines import LineVersion
from pipelines.models.tasks import Task


class Decision(models.Model):
    """Answer of `decide`, with all it read: enough to decide again (house §3 I9)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.CASCADE, related_name="decisions", db_index=False)
    token_id = models.BigIntegerField()
    job_id = models.BigIntegerField()
    pinned = models.ForeignKey(LineVersion, models.PROTECT, related_name="+", db_index=False)
    revision = models.PositiveSmallIntegerField(
        help_text="Of the law under which it was decided; invariants recompute those of the current one."
    )
    # report:<job>.<attempt>, vote:<id>, answer:<id>, retry:…, facts:… — a cause makes at most one decision
    cause = models.CharField(max_length=120)
    station = models.CharField(max_length=64)
    situation = models.JSONField(help_text="Input of the decision tool.")
    answer = models.JSONField(help_text="Output of the decision tool, without its trace.")
    trace = (
        models.JSONField()
    )  # as far as it cannot be worked out again: see routing/analysis/redecide/stored_trace.py
    micros = models.PositiveIntegerField(help_text="Time that deciding took, in µs.")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "cause"], name="one_decision_per_cause")]
        indexes = [
            models.Index(fields=["task", "at"], name="decision_by_task"),
            # Insights count the decisions of a line and a range of time from this alone.
            models.Index(
                fields=["pinned", "at"],
                include=("id", "station", "job_id", "task"),
                name="decision_of_version",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.station}: {self.answer.get('decision')}"


class Event(models.Model):
    """Entry in a task's own gapless sequence (law §9)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=40)
    at = models.DateTimeField()
    token_id = models.BigIntegerField(null=True, blank=True)
    actor = models.CharField(max_length=200, help_text="person:<id>, machine:<token>, worker:<id>, engine")
    source = models.CharField(max_length=64, blank=True, help_text="Station or state before.")
    target = models.CharField(max_length=64, blank=True, help_text="Station, gate or end after.")
    trigger = models.CharField(max_length=120, blank=True)
    decision = models.ForeignKey(Decision, models.PROTECT, null=True, blank=True, related_name="events")
    # Everything that folding needs: see pipelines/engine/core/fold.py
    data = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "seq"], name="event_sequence"),
            models.CheckConstraint(condition=Q(seq__gte=1), name="event_sequence_from_one"),
        ]
        ordering = ["task", "seq"]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"
