"""Due times of tasks and gate visits, which a pause stops (law §17)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.expressions import Combinable


class Deadline(models.Model):
    """Model with a due time, or none. While `paused_at` is set its clock stands still since then."""

    due_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when the clock of its due time stands still (law §17)."
    )

    class Meta:
        abstract = True

    @property
    def running_due_at(self) -> datetime | None:
        """The due time, None while a pause stops its clock. What had passed before stays."""
        stands = self.due_at and self.paused_at and self.paused_at < self.due_at
        return None if stands else self.due_at

    @property
    def due_after_pause(self) -> timedelta | None:
        """Time that is left when the pause is over; None where no clock stands still."""
        if self.due_at is None or self.paused_at is None or self.running_due_at is not None:
            return None
        return self.due_at - self.paused_at


def overdue(now: datetime | Combinable, prefix: str = "") -> Q:
    """Return the condition of a due time that has passed, and not while a pause stopped its clock. `prefix`: of the
    fields, such as `task__`."""
    due, paused = f"{prefix}due_at", f"{prefix}paused_at"
    return Q(**{f"{due}__lt": now}) & (Q(**{paused: None}) | Q(**{f"{due}__lt": F(paused)}))


def running_due_at() -> Case:
    """Return `Deadline.running_due_at` for the database."""
    runs = Q(paused_at=None) | Q(paused_at__gte=F("due_at"))
    return Case(When(runs, then=F("due_at")), output_field=models.DateTimeField())
