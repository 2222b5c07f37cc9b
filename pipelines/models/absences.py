"""Absences of people, and who stands in for them at gates."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from pipelines.models.people import Project


class Absence(models.Model):
    """Absence of a person until a time; another may decide in their place (law §6, Absence). `project`: None
    for every project; an absence of one project counts there instead."""

    user = models.ForeignKey(
        # No index of its own: the unique constraint begins with it.
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="absences",
        db_index=False,
    )
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="absences")
    stand_in = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="stands_in_for")
    until = models.DateTimeField(help_text="From then on it counts no more.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                # Nulls are alike, so that there is one absence for every project, too.
                fields=["user", "project"],
                name="one_absence_per_project",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=~Q(user=F("stand_in")), name="nobody_stands_in_for_themselves"),
        ]

    def __str__(self) -> str:
        return f"{self.user} → {self.stand_in}"
