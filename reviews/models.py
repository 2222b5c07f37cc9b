"""What the human side of a gate keeps for itself: the mails."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from pipelines.models import GateVisit


class Mail(models.Model):
    """One mail to one address about one gate visit; its row is its place in the outbox (house §3 I12).

    Written by the observer inside the move's transaction, sent by the queue after the commit. `message_id` is
    fixed when the row is written, so a mail that is sent twice after a crash is one mail to a mail client.
    """

    class Kind(models.TextChoices):
        ASKED = "asked", _("Review asked")
        OVERDUE = "overdue", _("Review overdue")
        CLOSED = "closed", _("Review closed")

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        SENT = "sent", _("Sent")
        FAILED = "failed", _("Failed")

    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="mails")
    address = models.EmailField(max_length=254)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    token = models.UUIDField(default=uuid.uuid4, help_text=_("The unique part of the Message-ID."))
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

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
