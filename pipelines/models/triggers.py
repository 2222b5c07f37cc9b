"""Triggers: they start tasks of a line without a person at the form. And the log of their occasions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models.lines import Line
from pipelines.models.tasks import Task


class Trigger(models.Model):
    """Starts tasks of a line with these inputs. What else it needs to know its kind says
    (`pipelines/work/triggers/table.py`), and stands in `options`."""

    line = models.ForeignKey(Line, models.CASCADE, related_name="triggers")
    kind = models.CharField(max_length=20)
    options = models.JSONField(default=dict)
    source = models.ForeignKey(
        Line,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="follower_triggers",
        help_text="The line of the project whose ends it waits for; empty: it waits for something else.",
    )
    title = models.CharField(
        max_length=300, blank=True, help_text="Of its tasks; empty: made from the inputs."
    )
    inputs = models.JSONField(default=dict)
    one_at_a_time = models.BooleanField(
        default=True, help_text="Whether a task that has not ended keeps the next from starting."
    )
    paused_at = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField(
        null=True, blank=True, help_text="When it starts a task next; empty: it waits for no time."
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="+",
        help_text="Requester of its tasks, as long as this person may start some.",
    )
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="+",
        help_text="Who wrote the title and the inputs, and so asked for the tasks, too.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(paused_at__isnull=True) | Q(next_at__isnull=True),
                name="a_paused_trigger_waits_for_no_time",
            )
        ]
        indexes = [models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="trigger_next")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def options_with_line_name(self) -> dict[str, Any]:
        """Options with the name of the line that it waits for, as people know it."""
        return {**self.options, "line_name": self.source.name} if self.source else self.options


class WebhookAddress(models.Model):
    """Address at which a trigger is called, and the body that it got last, as an example for its form."""

    trigger = models.OneToOneField(Trigger, models.CASCADE, primary_key=True, related_name="webhook")
    address = models.CharField(max_length=64, unique=True, help_text="The end of the address; it is random.")
    example = models.TextField(blank=True, help_text="The body of the last delivery, or one that was pasted.")
    example_of = models.CharField(max_length=100, blank=True, help_text="The delivery; empty: pasted.")

    class Meta:
        verbose_name_plural = "webhook addresses"

    def __str__(self) -> str:
        return f"Address of {self.trigger_id}"


class WebhookSecret(models.Model):
    """Secret that signs what a trigger is called with. For a while after a change two of them are valid."""

    ENCRYPTED = ("content",)

    trigger = models.ForeignKey(Trigger, models.CASCADE, related_name="secrets")
    content = models.TextField(help_text="Encrypted.")
    hint = models.CharField(max_length=4, help_text="Its last characters.")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="+",
        help_text="Knows it, and so may have asked for the tasks that it starts.",
    )
    valid_until = models.DateTimeField(null=True, blank=True, help_text="Empty: it is the current one.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trigger"], condition=Q(valid_until__isnull=True), name="one_current_webhook_secret"
            )
        ]

    def __str__(self) -> str:
        return f"Secret of {self.trigger_id}"


class TriggerDelivery(models.Model):
    """Occasion of a trigger: a slot of a schedule, a call of a webhook, or the end of a task. `key` names it, so that
    it counts once."""

    class TriggerOutcome(models.TextChoices):
        STARTED = "started", "Started"
        IGNORED = "ignored", "Ignored"
        FAILED = "failed", "Failed"
        REPEATED = "repeated", "Repeated"

    trigger = models.ForeignKey(Trigger, models.CASCADE, related_name="deliveries", db_index=False)
    key = models.CharField(max_length=100)
    at = models.DateTimeField()
    outcome = models.CharField(max_length=8, choices=TriggerOutcome.choices)
    detail = models.TextField(
        blank=True, help_text="Why nothing was started and what to do, or what else is to know."
    )
    task = models.ForeignKey(Task, models.SET_NULL, null=True, blank=True, related_name="trigger_deliveries")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trigger", "key"],
                condition=~Q(outcome="repeated"),
                name="one_delivery_of_an_occasion",
            )
        ]
        indexes = [
            models.Index(fields=["trigger", "-id"], name="trigger_delivery_latest"),
            models.Index(fields=["at"], name="trigger_delivery_by_age"),
        ]
        verbose_name_plural = "trigger deliveries"

    def __str__(self) -> str:
        return f"{self.key}: {self.outcome}"
