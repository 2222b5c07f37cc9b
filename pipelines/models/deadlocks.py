"""Tasks that wait for each other, and deadlocks that were found (law §8)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from pipelines.models.escalations import Escalation
from pipelines.models.tasks import Task


class Dependency(models.Model):
    """`task` does no work before `on` is completed; or, under the limit of a line, before few enough have not ended."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="depends_on")
    on = models.ForeignKey(Task, models.CASCADE, related_name="dependents")
    made_at = models.DateTimeField()
    room = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="Under the limit of a line: fewer of those ahead have to be open; empty: `on` has to complete.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "on"], name="one_dependency_on_a_task"),
            models.CheckConstraint(condition=~Q(task=models.F("on")), name="no_task_waits_for_itself"),
        ]
        verbose_name_plural = "dependencies"

    def __str__(self) -> str:
        return f"{self.task_id} → {self.on_id}"


class Deadlock(models.Model):
    """Deadlock: until it is resolved its parties do no work, and their agents get none. `task`: where it was
    detected; `parties`: [{task, name, token, station, agent, status}] as they were then; `handoffs`: what
    they handed over last. `escalation`: of branches that contradict each other; whoever resolves it
    resolves this."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        RESOLVED = "resolved", "Resolved"

    class Unlocking(models.TextChoices):
        OUTPUT = "output", "Choose an output"
        CONTEXT = "context", "Add context"
        ESCALATE = "escalate", "Escalate"
        CANCEL = "cancel", "Cancel the task"
        ENDED = "ended", "A task ended"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    task = models.ForeignKey(Task, models.CASCADE, related_name="deadlocks")
    tasks = models.ManyToManyField(Task, related_name="party_to")
    escalation = models.OneToOneField(
        Escalation, models.CASCADE, null=True, blank=True, related_name="deadlock"
    )
    kind = models.CharField(max_length=13)
    parties = models.JSONField()
    handoffs = models.JSONField(default=list)
    agents = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    suggestion = models.TextField()
    role = models.CharField(max_length=100)
    found_at = models.DateTimeField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    how = models.CharField(max_length=8, choices=Unlocking.choices, blank=True)
    answer = models.TextField(blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", how="", resolved_at__isnull=True)
                | (Q(state="resolved", resolved_at__isnull=False) & ~Q(how="")),
                name="a_deadlock_is_resolved_once",
            ),
        ]
        indexes = [models.Index(fields=["task"], condition=Q(state="open"), name="deadlock_open")]

    def __str__(self) -> str:
        return f"{self.kind} · {self.task_id}"

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that may resolve the deadlock."""
        return (self.role,)
