"""Follows: what people follow."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models import Line, Project, Task


class Follow(models.Model):
    """Follow by one person of one task, one line (`station` empty), or one station of a line, whatever
    version names it. Without membership of the project it is silent."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="follows")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    task = models.ForeignKey(Task, models.CASCADE, null=True, blank=True, related_name="+")
    line = models.ForeignKey(Line, models.CASCADE, null=True, blank=True, related_name="+")
    station = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "task"], name="one_follow_of_a_task"),
            models.UniqueConstraint(fields=["user", "line", "station"], name="one_follow_of_a_line"),
            models.CheckConstraint(
                condition=Q(task__isnull=False, line__isnull=True, station="")
                | Q(task__isnull=True, line__isnull=False),
                name="a_follow_has_one_thing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.task or self.line}"
