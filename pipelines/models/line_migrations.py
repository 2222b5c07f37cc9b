"""Migrations of running tasks from version to version: the audit, and what undoing one needs.

(No relation to Django's migrations of the database.)"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models.lines import Line, LineVersion
from pipelines.models.tasks import Task


class Migration(models.Model):
    """Migration of tasks of a line to one version with one mapping, as one operation. An undo is one, too
    (`undoes`)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    line = models.ForeignKey(Line, models.PROTECT, related_name="migrations")
    to = models.ForeignKey(
        LineVersion,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        help_text="None for an undo: each task goes back to its own.",
    )
    mapping = models.JSONField(default=dict, help_text="{old station: new station}")
    reason = models.TextField()
    digest = models.CharField(max_length=64, help_text="Of the impact that was confirmed.")
    undoes = models.OneToOneField("self", models.PROTECT, null=True, blank=True, related_name="undone_by")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True, help_text="None while tasks are left to do.")

    class Meta:
        indexes = [models.Index(fields=["line", "-at"], name="migration_by_line")]
        constraints = [
            models.CheckConstraint(
                condition=Q(to__isnull=True) ^ Q(undoes__isnull=True), name="migration_goes_or_undoes"
            ),
            models.CheckConstraint(condition=Q(reason__regex=r"\S"), name="migration_needs_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.line_id} → {self.to_id or 'back'}"


class MigrationEntry(models.Model):
    """Result of a migration for one task. Final once it has a result: a trigger refuses to change it."""

    class Result(models.TextChoices):
        PLANNED = "planned", "Not done yet"
        MIGRATED = "migrated", "Migrated"
        RESTORED = "restored", "Put back"
        ALREADY = "already", "Was there already"
        CHANGED = "changed", "Changed meanwhile"
        REFUSED = "refused", "Could not"

    # No index of its own: the unique constraint begins with it.
    migration = models.ForeignKey(Migration, models.CASCADE, related_name="entries", db_index=False)
    task = models.ForeignKey(Task, models.CASCADE, related_name="migrations")
    was = models.ForeignKey(LineVersion, models.PROTECT, related_name="+", db_index=False)
    to = models.ForeignKey(LineVersion, models.PROTECT, related_name="+", db_index=False)
    expected = models.JSONField(default=list, help_text="The effects that were confirmed, one per token.")
    result = models.CharField(max_length=8, choices=Result.choices, default=Result.PLANNED)
    detail = models.TextField(blank=True)
    # [{token, how, before: {…}, after: {…}}], see pipelines/engine/migration/positions.py
    tokens = models.JSONField(default=list)
    before = models.JSONField(default=dict, help_text="Of the task: context and variables, where changed.")
    seq = models.PositiveIntegerField(default=0, help_text="The task's last event when it was done.")
    at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["migration", "task"], name="one_entry_per_migration_and_task"),
            models.CheckConstraint(
                condition=Q(result__in=["planned", "migrated", "restored", "already", "changed", "refused"]),
                name="migration_result_known",
            ),
            models.CheckConstraint(
                condition=Q(result="planned", at__isnull=True) | (~Q(result="planned") & Q(at__isnull=False)),
                name="migration_entry_is_done_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id}: {self.result}"
