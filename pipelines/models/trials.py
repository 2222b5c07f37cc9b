"""Runs of one station by itself, from the editor: no task has any part in them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models.lines import Line


class StationTrial(models.Model):
    """Trial run of a station as it is drawn, with its inputs. Deleted an hour after it was requested.

    `why`: how it ended without an outcome.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        CANCELLED = "cancelled", "Cancelled"

    line = models.ForeignKey(Line, models.CASCADE, related_name="trials")
    station = models.CharField(max_length=64)
    document = models.JSONField(help_text="The line as it is drawn, stored or not.")
    inputs = models.JSONField(default=dict)
    context = models.JSONField(default=dict, help_text="What earlier stations are said to have handed on.")
    # No foreign key: a trial has no hold on what belongs to a task.
    source = models.BigIntegerField(
        null=True, blank=True, help_text="The recorded run whose inputs and files it gets; empty: typed."
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    log = models.TextField(blank=True, help_text="Whole lines, each “seconds<TAB>text”; bounded.")
    outcome = models.JSONField(null=True, blank=True)
    why = models.CharField(max_length=40, blank=True, help_text="A key of pipelines.lines.trials.ENDED.")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(
        null=True, blank=True, help_text="When its worker last said that it goes on."
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["by"], condition=Q(state__in=["queued", "running"]), name="one_open_trial_per_person"
            ),
            models.CheckConstraint(
                condition=Q(state="done", outcome__isnull=False)
                | (~Q(state="done") & Q(outcome__isnull=True)),
                name="a_done_trial_has_an_outcome",
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="trial_by_age")]

    def __str__(self) -> str:
        return f"{self.station} ({self.state})"
