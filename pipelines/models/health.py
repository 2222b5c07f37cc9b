"""Figures of a project's health that are over their limit."""

from __future__ import annotations

from django.db import models

from pipelines.models.people import Project


class HealthBreach(models.Model):
    """Figure that is over its limit since a time: while it stands, nobody is told of it again (AEEF E28)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    figure = models.CharField(max_length=30)
    of = models.CharField(max_length=300, blank=True, help_text="Line and gate, of the refusals of one gate.")
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "figure", "of"], name="one_breach_of_a_figure")
        ]

    def __str__(self) -> str:
        return f"{self.project}: {self.figure} {self.of}".rstrip()
