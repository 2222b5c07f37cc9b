"""Timers that become due at an instant without anybody calling: one narrow table for everything that waits
for a time."""

from __future__ import annotations

from django.db import models

from pipelines.models.gates import GateVisit
from pipelines.models.tasks import Task, Token
from pipelines.models.work import Job


class Due(models.Model):
    """`kind` names what is done then (`engine/deadlines.py`). Written by the move that begins the wait, in its
    transaction, and gone with what waits: with its job or gate visit when that is over, with its token when that
    moves on, with its task at the end (house §3 I8)."""

    # No index of its own: the unique constraint begins with it.
    task = models.ForeignKey(Task, models.CASCADE, related_name="dues", db_index=False)
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=120, blank=True, help_text="What of its kind it is for.")
    token = models.ForeignKey(Token, models.CASCADE, null=True, blank=True, related_name="+", db_index=False)
    job = models.ForeignKey(Job, models.CASCADE, null=True, blank=True, related_name="+", db_index=False)
    visit = models.ForeignKey(
        GateVisit, models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    set_at = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)
    paused_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when its clock stands still (law §17); empty: it runs."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "kind", "key"], name="one_due_per_kind_and_key")
        ]
        verbose_name_plural = "due times"

    def __str__(self) -> str:
        return f"{self.kind} {self.key} · {self.due_at:%Y-%m-%d %H:%M:%S}"
