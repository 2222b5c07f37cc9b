"""An invitation into a project. Its link is signed, not stored: who reads the database has none."""

from __future__ import annotations

from datetime import datetime
from secrets import token_urlsafe

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from pipelines.models.people import Group, Project, Role


def new_key() -> str:
    return token_urlsafe(16)


class Invitation(models.Model):
    """Whoever opens its link joins once, with what it gives. Renewing it makes the link before worthless."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        EXPIRED = "expired", "Expired"
        ACCEPTED = "accepted", "Accepted"
        REVOKED = "revoked", "Revoked"

    project = models.ForeignKey(Project, models.CASCADE, related_name="invitations")
    key = models.CharField(max_length=43, unique=True, default=new_key)
    email = models.EmailField(blank=True, help_text="Empty: the link is handed over by other means.")
    roles = ArrayField(models.CharField(max_length=10, choices=Role.choices))
    execute = models.BooleanField(default=False)
    groups = models.ManyToManyField(Group, related_name="+", blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    expires_at = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True, blank=True)
    mail_error = models.TextField(blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(roles__contained_by=Role.values) & Q(roles__len__gt=0),
                name="invitation_roles_known",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(accepted_by__isnull=False),
                name="an_accepted_invitation_says_by_whom",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True),
                name="an_accepted_invitation_is_not_revoked",
            ),
        ]

    def __str__(self) -> str:
        return self.email or "Link for anyone"

    @property
    def roles_display(self) -> str:
        return ", ".join(str(Role(role).label) for role in self.roles)

    def state(self, now: datetime) -> State:
        if self.accepted_at is not None:
            return self.State.ACCEPTED
        if self.revoked_at is not None:
            return self.State.REVOKED
        return self.State.EXPIRED if self.expires_at <= now else self.State.OPEN
