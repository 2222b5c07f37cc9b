"""What the human side of a gate keeps for itself: the mails."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pipelines.models import GateVisit, Task


class Posted(models.Model):
    """One mail to one address; its row is its place in the outbox. Written by the observer inside the move's
    transaction, sent by the queue after the commit. `token` is fixed when the row is written, so a mail that is sent
    twice after a crash is one mail to a mail client."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")

    address = models.EmailField(max_length=254)
    token = models.UUIDField(default=uuid.uuid4, help_text=_("The unique part of the Message-ID."))
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Mail(Posted):
    """About one gate visit: one of each kind to each address (house §3 I12)."""

    class Kind(models.TextChoices):
        ASKED = "asked", _("Review asked")
        OVERDUE = "overdue", _("Review overdue")
        CLOSED = "closed", _("Review closed")

    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="mails")
    kind = models.CharField(max_length=8, choices=Kind.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["visit", "address", "kind"], name="one_mail_per_visit_address_kind"
            ),
            models.CheckConstraint(
                condition=~Q(state="sent") | Q(sent_at__isnull=False), name="a_sent_mail_has_its_time"
            ),
        ]
        verbose_name_plural = "mail"

    def __str__(self) -> str:
        return f"{self.kind} · {self.address}"


class Notice(Posted):
    """About an escalation or a deadlock: told once of each kind."""

    class Kind(models.TextChoices):
        ESCALATED = "escalated", _("Escalated")
        BREACHED = "breached", _("Not answered in time")
        DEADLOCK = "deadlock", _("Deadlock")

    task = models.ForeignKey(Task, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=9, choices=Kind.choices)
    about = models.UUIDField(help_text=_("The escalation or deadlock."))

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["about", "address", "kind"], name="one_notice_per_address_and_kind"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} · {self.address}"
