"""Accounts of a chat that people linked to theirs, and the codes by which they do (law §15)."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from reviews.models.channels import ChannelConnection


class ChatAccount(models.Model):
    """Identity of a person in the chat of one connection, whose signing secret vouches for it. It means
    nothing to any other connection, whatever that signs."""

    connection = models.ForeignKey(ChannelConnection, models.CASCADE, related_name="accounts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="chat_accounts")
    workspace = models.CharField(max_length=64)
    account = models.CharField(max_length=64, help_text="The id of the person in the workspace.")
    linked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "workspace", "account"], name="one_person_of_a_chat_account"
            )
        ]

    def __str__(self) -> str:
        return f"{self.account} · {self.user}"


class ChatCode(models.Model):
    """A code that links the chat account which says it, once, before `expires_at`. Only its SHA-256 is kept; a person
    has one at a time for each connection."""

    connection = models.ForeignKey(ChannelConnection, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["connection", "user"], name="one_chat_code_of_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.connection} · {self.user}"
