"""Pauses: what people hold as a whole, and since when (law §17)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q, QuerySet

from pipelines.models.lines import Line
from pipelines.models.people import Project, User
from pipelines.models.tasks import Task


class Pause(models.Model):
    """A pause of a project, of a line in it, of one station of the line, or of one task: `scope` names which. It is in
    force until `ended_at`, and its row stays, since the due times that it moves are counted from it."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="pauses", db_index=False)
    scope = models.CharField(max_length=120)
    line = models.ForeignKey(Line, models.CASCADE, null=True, blank=True, related_name="pauses")
    station = models.CharField(max_length=64, blank=True)
    task = models.ForeignKey(Task, models.CASCADE, null=True, blank=True, related_name="pauses")
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    reason = models.TextField(blank=True)
    stops = models.BooleanField(help_text="Whether running work is taken back; else it ends by itself.")
    since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "scope"],
                condition=Q(ended_at=None),
                name="one_pause_in_force_of_a_scope",
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope} since {self.since:%Y-%m-%d %H:%M:%S}"

    @classmethod
    def of_task(cls, task: Task) -> QuerySet[Pause]:
        """Return the pauses under which a task is or was, whatever station they are for."""
        over = cls.objects.filter(Q(line=None) | Q(line=task.line_id), Q(task=None) | Q(task=task.pk))
        return over.filter(project=task.project_id)

    @classmethod
    def in_force_on(cls, line: Line) -> QuerySet[Pause]:
        """Return the pauses over a line, its stations and its tasks, oldest first, with who paused it."""
        over = cls.objects.filter(Q(line=None, task=None) | Q(line=line) | Q(task__line=line))
        return over.filter(project=line.project_id, ended_at=None).select_related("by").order_by("since")
