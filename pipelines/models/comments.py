"""Comments of people on the parts of a line: beside the document, so no version and no digest holds any of
them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models.lines import Line


class Comment(models.Model):
    """Comment on a station, a rule, a gate or the whole line; answers go one level deep. A deleted comment
    keeps its row without its text, so that answers keep their place and the record says who wrote and who
    deleted."""

    class PartKind(models.TextChoices):
        LINE = "line", "Line"
        STATION = "station", "Station"
        RULE = "rule", "Rule"
        GATE = "gate", "Gate"

    id = models.UUIDField(
        primary_key=True,
        default=uuid.uuid4,
        help_text="Chosen by who writes it, so that sending it twice writes it once.",
    )
    line = models.ForeignKey(Line, models.CASCADE, related_name="comments", db_index=False)
    kind = models.CharField(max_length=8, choices=PartKind.choices)
    key = models.CharField(max_length=200, blank=True, help_text="Key of the part, or the rule's id.")
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="replies")
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    edited_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    deleted_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(
        default=1, help_text="Counts its changes; their sum over a line only grows."
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="line", key="") | (~Q(kind="line") & ~Q(key="")), name="comment_has_a_place"
            ),
            models.CheckConstraint(
                condition=Q(parent__isnull=True) | Q(resolved_at__isnull=True),
                name="a_thread_is_resolved_whole",
            ),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True) | Q(text=""), name="deleted_comment_says_nothing"
            ),
        ]
        indexes = [models.Index(fields=["line", "created_at"], name="comment_by_line")]
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.text[:60]
