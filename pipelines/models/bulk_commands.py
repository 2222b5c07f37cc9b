"""Commands for many tasks at once: what was chosen, what was planned, and what became of each (law §17)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models.tasks import Task


class BulkCommand(models.Model):
    """Command of a person for many tasks. It is planned first, and begins when they confirm the plan."""

    class BulkAction(models.TextChoices):
        MOVE = "move", "Move"
        RETRY = "retry", "Retry"
        PAUSE = "pause", "Pause"
        RESUME = "resume", "Resume"
        CANCEL = "cancel", "Cancel"

    class BulkState(models.TextChoices):
        PLANNING = "planning", "Planning"
        PLANNED = "planned", "Planned"
        RUNNING = "running", "Running"
        STOPPED = "stopped", "Stopped"
        FINISHED = "finished", "Finished"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False)
    action = models.CharField(max_length=6, choices=BulkAction.choices)
    to = models.CharField(max_length=64, blank=True, help_text="Of a move: the station, or @success.")
    reason = models.TextField(blank=True)
    stops = models.BooleanField(default=False, help_text="Of a pause: whether running work is taken back.")
    state = models.CharField(max_length=8, choices=BulkState.choices, default=BulkState.PLANNING)
    left_out = models.PositiveIntegerField(
        default=0, help_text="How many matched besides: one command takes no more."
    )
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["by", "-created_at"], name="bulk_command_by_person"),
            models.Index(fields=["created_at"], name="bulk_command_by_age"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(action__in=["move", "retry", "pause", "resume", "cancel"]),
                name="bulk_action_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["planning", "planned", "running"], ended_at__isnull=True)
                | Q(state__in=["stopped", "finished"], ended_at__isnull=False),
                name="bulk_command_ended_at_its_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.pk}"

    @property
    def moves_positions(self) -> bool:
        """Return whether it is about positions, of which a task may have several; else about the task as a whole."""
        return self.action in (self.BulkAction.MOVE, self.BulkAction.RETRY)


class BulkEntry(models.Model):
    """Part of a command for many tasks that is about one of them. Final once it is done or refused."""

    class BulkResult(models.TextChoices):
        CHOSEN = "chosen", "Not planned yet"
        PLANNED = "planned", "Planned"
        DONE = "done", "Done"
        REFUSED = "refused", "Refused"
        LEFT = "left", "Stopped before its turn"

    # No index of its own: the unique constraint begins with it.
    command = models.ForeignKey(BulkCommand, models.CASCADE, related_name="entries", db_index=False)
    task = models.ForeignKey(Task, models.CASCADE, related_name="bulk_entries")
    # No key: a position goes with its task
    position = models.BigIntegerField(default=0, help_text="The id of its token; 0: the task as a whole.")
    version = models.PositiveIntegerField(default=0, help_text="Of the position, as the plan saw it.")
    plan = models.JSONField(default=dict, help_text="{places, end, closes, votes, work}")
    result = models.CharField(max_length=8, choices=BulkResult.choices, default=BulkResult.CHOSEN)
    detail = models.TextField(blank=True, help_text="Why it was refused.")
    at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["command", "task", "position"], name="one_entry_per_bulk_command_and_position"
            ),
            models.CheckConstraint(
                condition=Q(result__in=["chosen", "planned"], at__isnull=True)
                | Q(result__in=["done", "refused", "left"], at__isnull=False),
                name="bulk_entry_is_done_once",
            ),
        ]
        verbose_name_plural = "bulk entries"

    def __str__(self) -> str:
        return f"{self.task_id}: {self.result}"
