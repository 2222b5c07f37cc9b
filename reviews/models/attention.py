"""Attention to a review: who looks after it, what its requester was asked, and who sees it later. None of it
decides anything."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models import GateVisit, Task
from pipelines.routing.basics.hidden_characters import escape_hidden


class ReviewClaim(models.Model):
    """Somebody looks at an open gate visit. It tells others so until `until`, and keeps nobody from deciding."""

    visit = models.OneToOneField(GateVisit, models.CASCADE, primary_key=True, related_name="claim")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    at = models.DateTimeField()
    until = models.DateTimeField(help_text="From then on it counts no more.")

    def __str__(self) -> str:
        return f"{self.visit_id} · {self.user}"


class ReviewQuestion(models.Model):
    """A reviewer's question to the requester of the task, and its answer. It voids nothing."""

    # No index of its own, nor for `task` and `asked`: those of Meta begin with them
    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="questions", db_index=False)
    task = models.ForeignKey(Task, models.CASCADE, related_name="review_questions", db_index=False)
    gate = models.CharField(max_length=64)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    asked = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="review_questions", db_index=False
    )
    text = models.TextField()
    at = models.DateTimeField()
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answered_at__isnull=True, answer="")
                | (Q(answered_at__isnull=False) & ~Q(answer="")),
                name="an_answer_has_its_time",
            )
        ]
        indexes = [
            models.Index(fields=["task", "gate", "id"], name="questions_of_review"),
            models.Index(fields=["visit"], name="questions_of_visit"),
            models.Index(
                fields=["asked", "at"], condition=Q(answered_at__isnull=True), name="questions_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.asked_by} → {self.asked}"

    @property
    def text_with_hidden_characters_escaped(self) -> str:
        """Text without marks that turn or hide what is read."""
        return escape_hidden(self.text)

    @property
    def answer_with_hidden_characters_escaped(self) -> str:
        return escape_hidden(self.answer)


class ReviewSnooze(models.Model):
    """Snooze of a review: one person sees an open gate visit again from `until` on; for everybody else
    nothing changes."""

    # The constraint's index begins with it
    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="snoozes", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["visit", "user"], name="one_snooze_of_a_visit")]

    def __str__(self) -> str:
        return f"{self.visit_id} · {self.user}"
