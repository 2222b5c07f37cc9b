"""Calls of tools that an agent at work has to be allowed, and the answers of people."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from pipelines.models.tasks import Task
from pipelines.models.work import Job


class WaitingPermissions(models.Manager["ToolPermission"]):
    """Manager of the calls for whose answer an attempt still waits."""

    def get_queryset(self) -> models.QuerySet[ToolPermission]:
        open_rows = super().get_queryset().filter(state="open", due_at__gt=Now())
        # A later attempt at the same job asks for itself
        return open_rows.filter(job__state=Job.State.RUNNING, job__lease_key=F("lease_key"))


class ToolPermission(models.Model):
    """Call that an agent asks about, and its answer, which counts for this call alone. An open one whose attempt is
    over, or whose time has passed, waits for nobody."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ALLOWED = "allowed", "Allowed"
        DENIED = "denied", "Denied"

    task = models.ForeignKey(Task, models.CASCADE, related_name="permissions", db_index=False)
    job = models.ForeignKey(Job, models.CASCADE, related_name="permissions", db_index=False)
    lease_key = models.UUIDField(help_text="Of the attempt that asks.")
    key = models.UUIDField(help_text="Which call of the attempt it is: the worker names each.")
    tool = models.CharField(max_length=200)
    arguments = models.JSONField(help_text="As people see them: without the secrets of the job.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the tool with its exact arguments.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    requested_at = models.DateTimeField()
    due_at = models.DateTimeField()
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    answered_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)
    objects = models.Manager()
    waiting = WaitingPermissions()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "key"], name="one_permission_per_call"),
            models.CheckConstraint(
                condition=Q(state="open", answered_at__isnull=True, answered_by__isnull=True)
                | Q(state="allowed", answered_at__isnull=False, answered_by__isnull=False)
                # Time that ran out may deny, but allows nothing
                | Q(state="denied", answered_at__isnull=False),
                name="a_person_allows_a_call",
            ),
        ]
        indexes = [
            models.Index(fields=["task"], name="permission_of_task"),
            models.Index(fields=["due_at"], condition=Q(state="open"), name="permission_open"),
        ]

    def __str__(self) -> str:
        return f"{self.tool}: {self.state}"
