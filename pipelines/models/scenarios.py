"""Tests of a line: scripted walks that are kept with it, and belong to no version."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from pipelines.models.lines import Line
from pipelines.models.people import slug


class Scenario(models.Model):
    """Scenario: a walk through a line, with what is expected of it (docs/testing.md)."""

    class Source(models.TextChoices):
        WRITTEN = "written", "Written"
        RECORDED = "recorded", "Recorded"
        GENERATED = "generated", "Generated"

    line = models.ForeignKey(Line, models.CASCADE, related_name="scenarios")
    key = models.CharField(max_length=64, validators=[slug])
    name = models.CharField(max_length=200)
    document = models.JSONField()
    source = models.CharField(max_length=12, choices=Source.choices, default=Source.WRITTEN)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    at = models.DateTimeField(help_text="When it was made or last changed.")
    runs = models.JSONField(
        default=dict,
        help_text="The last run against `draft` and against `live`, as pipelines/lines/scenarios.py keeps them.",
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["line", "key"], name="scenario_key_in_line")]
        ordering = ["line", "key"]

    def __str__(self) -> str:
        return self.key
