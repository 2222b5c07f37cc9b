"""Escalations to somebody responsible, and the incidents that came of them (law §8)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from pipelines.models.gates import GateVisit
from pipelines.models.tasks import Task, Token


class Escalation(models.Model):
    """Escalation of a task, which may not go forward while it is open. `token`: where it arose, if at a
    position; `visit`: the gate whose time had passed. What is done on a breach is stored as the line
    defined it when the escalation opened."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        RESOLVED = "resolved", "Resolved"

    class How(models.TextChoices):
        """Resolutions of an escalation: the decisions of a person, then what resolves it without one."""

        GO_ON = "go_on", "Go on"
        CHOOSE = "choose", "Choose a branch"
        RETRY = "retry", "Run the station again"
        ROUTE = "route", "Send to a station"
        CANCEL = "cancel", "Cancel the task"
        DECIDED = "decided", "The review was decided"
        ENDED = "ended", "The task ended"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.CASCADE, related_name="escalated")
    token = models.ForeignKey(Token, models.CASCADE, null=True, blank=True, related_name="+")
    visit = models.ForeignKey(GateVisit, models.CASCADE, null=True, blank=True, related_name="+")
    trigger = models.CharField(max_length=100)
    role = models.CharField(max_length=150, help_text="Who answers, as the line calls them.")
    station = models.CharField(max_length=64, blank=True)
    rule = models.CharField(max_length=128, blank=True)
    reason = models.TextField(blank=True)
    opened_by = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True)
    on_breach = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    notify = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    breached_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    how = models.CharField(max_length=8, choices=How.choices, blank=True)
    route = models.CharField(max_length=64, blank=True)
    answer = models.TextField(blank=True, help_text="The reason of who resolved it.")
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", how="", resolved_at__isnull=True)
                | (Q(state="resolved", resolved_at__isnull=False) & ~Q(how="")),
                name="an_escalation_is_resolved_once",
            ),
            models.CheckConstraint(
                condition=Q(resolved_by__isnull=True) | Q(answer__regex=r"\S"),
                name="resolving_needs_a_reason",
            ),
        ]
        indexes = [models.Index(fields=["task"], condition=Q(state="open"), name="escalation_open")]

    def __str__(self) -> str:
        return f"{self.trigger} → {self.role}"

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that may resolve the escalation; of branches that contradict each other also the role that
        resolves deadlocks."""
        conflict = getattr(self, "deadlock", None)
        return (self.role, conflict.role) if conflict else (self.role,)


class Incident(models.Model):
    """Kept when an escalation was not answered in time and its line says so: once."""

    escalation = models.OneToOneField(Escalation, models.CASCADE, related_name="incident")
    task = models.ForeignKey(Task, models.CASCADE, related_name="incidents")
    title = models.CharField(max_length=300)
    opened_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.title
