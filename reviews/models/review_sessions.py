"""Viewing times of reviews, of nobody in particular."""

from __future__ import annotations

import uuid

from django.db import models

from pipelines.models import GateVisit


class Sitting(models.Model):
    """Open page of one review, in front of somebody who may decide it. It does not say whom; its id is known
    to that page alone. `seconds`: by the clock of the database, without the time in which nobody touched
    anything."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="sittings")
    seconds = models.FloatField(default=0)
    last_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.visit} · {self.seconds:.0f} s"
