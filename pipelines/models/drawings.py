"""Drawings of lines, stored: where parts stand, and the same as SVG."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from pipelines.models.people import Project


class Drawing(models.Model):
    """Drawing of one picture, in a wide frame and in a narrow one; a picture of the same content has the same.

    `project`: null for what ships with Gateline. `wide` and `narrow`: "" until it is drawn."""

    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="drawings")
    digest = models.CharField(max_length=64, help_text="Of the picture, and of the program that draws it.")
    picture = models.JSONField(help_text="What the canvas draws (pipelines/web/lines/drawing.py).")
    geometry = models.JSONField(default=dict, help_text="{wide, narrow}: {key, placed}")
    wide = models.TextField(blank=True)
    narrow = models.TextField(blank=True)
    used_at = models.DateTimeField(help_text="When a page last asked for it, to the day.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "digest"], name="one_drawing_of_a_picture"),
            models.UniqueConstraint(
                fields=["digest"], condition=Q(project=None), name="one_shipped_drawing_of_a_picture"
            ),
        ]
        indexes = [models.Index(fields=["used_at"], name="drawing_by_use")]

    def __str__(self) -> str:
        return self.digest[:12]
