"""Channels, which are chats and webhooks, what they tell of, and the messages to them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from pipelines.models import GateVisit, Project, Task

DEFAULT_TOPICS = ("waiting", "failed", "stuck", "late", "merged")
"""Keys of what a new channel tells, of `reviews/channels/topics.py`."""


def default_topics() -> list[str]:
    return list(DEFAULT_TOPICS)


class ChannelConnection(models.Model):
    """A chat or a webhook that is told of what happens in a project (docs/notifications.md). `secret`: encrypted."""

    ENCRYPTED = ("secret", "signing")
    """What `rotate_secrets` encrypts anew (`pipelines.ports.vault.store`)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="channels")
    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=100)
    address = models.CharField(max_length=500)
    room = models.CharField(max_length=200, blank=True)
    secret = models.TextField(blank=True)
    signing = models.TextField(
        blank=True,
        help_text="What the chat signs its calls with, encrypted. Without one it decides nothing.",
    )
    enabled = models.BooleanField(default=True)
    topics = ArrayField(
        models.CharField(max_length=12),
        default=default_topics,
        blank=True,
        help_text="Keys of `reviews/channels/topics.py`.",
    )
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="channel_name_in_project")]

    def __str__(self) -> str:
        return self.name


class ChannelMessage(models.Model):
    """Message about one gate visit, or about another event, to one connection. `ref` names it there. Its row
    is its place in the outbox, and FAILED is the box of dead letters: stored, visible, and sent again by
    hand."""

    class MessageKind(models.TextChoices):
        OPENED = "opened", "Review opened"
        CLOSED = "closed", "Review over"
        TEST = "test", "Test"
        EVENT = "event", "Event"

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        SENT = "sent", "Sent"
        FAILED = "failed", "Failed"
        SKIPPED = "skipped", "Nothing to tell"

    connection = models.ForeignKey(ChannelConnection, models.CASCADE, related_name="messages")
    visit = models.ForeignKey(
        GateVisit, models.CASCADE, null=True, blank=True, related_name="channel_messages"
    )
    kind = models.CharField(max_length=6, choices=MessageKind.choices)
    task = models.ForeignKey(
        Task,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="channel_messages",
        db_index=False,
        help_text="Its messages make one thread.",
    )
    topic = models.CharField(max_length=12, blank=True, help_text="Of an event: its key.")
    about = models.CharField(max_length=120, blank=True, help_text="Of an event: what it is told once about.")
    data = models.JSONField(default=dict, help_text="Of an event: what its sentence names.")
    token = models.UUIDField(default=uuid.uuid4, unique=True)
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    ref = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["visit", "connection", "kind"], name="one_message_per_visit_and_kind"
            ),
            models.UniqueConstraint(
                fields=["connection", "about"], condition=~Q(about=""), name="one_message_per_event"
            ),
        ]
        indexes = [
            models.Index(
                fields=["connection", "-created_at"], condition=Q(state="failed"), name="dead_letters"
            ),
            models.Index(fields=["task", "connection"], name="message_thread"),
            models.Index(fields=["connection", "-id"], name="message_latest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} · {self.connection}"
