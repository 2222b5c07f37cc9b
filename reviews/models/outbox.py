"""Mails, notifications, how each person wants them, and remarks of reviewers."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q

from pipelines.models import GateVisit, Line, Project, Task


class Posted(models.Model):
    """Mail to one address; its row is its place in the outbox. Written by the observer inside the move's
    transaction, sent by the queue after the commit. `token` is fixed when the row is written, so a mail
    that is sent twice after a crash is one mail to a mail client."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        SENT = "sent", "Sent"
        FAILED = "failed", "Failed"
        DIGEST = "digest", "In the digest"
        SKIPPED = "skipped", "Not wanted"

    address = models.EmailField(max_length=254, blank=True)
    token = models.UUIDField(default=uuid.uuid4, help_text="The unique part of the Message-ID.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Mail(Posted):
    """About one gate visit: one of each kind and number to each address (house §3 I12). `number`: of reminders, 0 for
    the one before it is due, then 1, 2, …; of the other kinds 1."""

    class MailKind(models.TextChoices):
        ASKED = "asked", "Review asked"
        SOON = "soon", "Review due soon"
        OVERDUE = "overdue", "Review overdue"
        CLOSED = "closed", "Review closed"

    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="mails")
    kind = models.CharField(max_length=8, choices=MailKind.choices)
    number = models.PositiveSmallIntegerField(default=1, help_text="Of a reminder: 0 before it is due.")
    chosen = models.BooleanField(
        default=False, help_text="Its reader asked for it; the gate does not name the address."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["visit", "address", "kind", "number"], name="one_mail_of_each_kind"
            ),
            models.CheckConstraint(
                condition=~Q(state="sent") | Q(sent_at__isnull=False), name="a_sent_mail_has_its_time"
            ),
        ]
        indexes = [models.Index(fields=["id"], condition=Q(state="failed"), name="mail_failed")]
        verbose_name_plural = "mail"

    def __str__(self) -> str:
        return f"{self.kind} · {self.address}"


class Notice(Posted):
    """About an escalation or a deadlock: told once of each kind."""

    class NoticeKind(models.TextChoices):
        ESCALATED = "escalated", "Escalated"
        BREACHED = "breached", "Not answered in time"
        DEADLOCK = "deadlock", "Deadlock"

    task = models.ForeignKey(Task, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=9, choices=NoticeKind.choices)
    about = models.UUIDField(help_text="The escalation or deadlock.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["about", "address", "kind"], name="one_notice_per_address_and_kind"
            ),
        ]
        indexes = [models.Index(fields=["id"], condition=Q(state="failed"), name="notice_failed")]

    def __str__(self) -> str:
        return f"{self.kind} · {self.address}"


class NotificationSettings(models.Model):
    """Settings of how one person is notified. Without a row the defaults of the kinds apply
    (`reviews.notifications.table`)."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="notification_settings"
    )
    choices = models.JSONField(
        default=dict, help_text="{kind: {bell: yes or no, mail: now, named, digest or never}}"
    )
    digest_hour = models.PositiveSmallIntegerField(default=8, validators=[MaxValueValidator(23)])
    quiet_from = models.PositiveSmallIntegerField(null=True, blank=True, validators=[MaxValueValidator(23)])
    quiet_until = models.PositiveSmallIntegerField(null=True, blank=True, validators=[MaxValueValidator(23)])

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(digest_hour__lte=23)
                & (Q(quiet_from__isnull=True) | Q(quiet_from__lte=23))
                & (Q(quiet_until__isnull=True) | Q(quiet_until__lte=23)),
                name="notification_hours_of_a_day",
            ),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="quiet_hours_have_both_ends",
            ),
        ]
        verbose_name_plural = "notification settings"

    def __str__(self) -> str:
        return f"Notifications of {self.user}"


class Digest(Posted):
    """Daily mail that collects notifications. Its row is created with the first of them, and its ticket waits
    until `due_at`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="digests")
    due_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "due_at"], name="one_digest_at_a_time")]
        indexes = [models.Index(fields=["id"], condition=Q(state="failed"), name="digest_failed")]

    def __str__(self) -> str:
        return f"{self.address} · {self.due_at:%Y-%m-%d %H:%M}"


class Notification(Posted):
    """Notification of one person about one event, once. Written in the transaction of the event; visible
    while they are a member of its project. `state` is that of its mail: `skipped` if none is wanted. The
    mail goes to the address they have when it is sent; `address` is the one at the time of writing."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notifications")
    project = models.ForeignKey(Project, models.CASCADE, related_name="notifications")
    task = models.ForeignKey(Task, models.CASCADE, null=True, blank=True, related_name="notifications")
    kind = models.CharField(max_length=24, help_text="A key of `reviews.notifications.table`.")
    about = models.CharField(max_length=80, help_text="What it speaks of, named so that it is told once.")
    data = models.JSONField(default=dict, help_text="What its sentence names besides the task.")
    bell = models.BooleanField(default=True, help_text="Shown behind the bell.")
    read_at = models.DateTimeField(null=True, blank=True)
    digest = models.ForeignKey(Digest, models.SET_NULL, null=True, blank=True, related_name="items")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "kind", "about"], name="one_notification_of_an_event"),
        ]
        indexes = [
            models.Index(fields=["user", "-id"], name="notification_of_person"),
            models.Index(
                fields=["user"], condition=Q(bell=True, read_at__isnull=True), name="notification_unread"
            ),
            models.Index(
                fields=["user"],
                condition=Q(state="digest", digest__isnull=True),
                name="notification_for_digest",
            ),
            models.Index(fields=["created_at"], name="notification_by_age"),
            models.Index(fields=["id"], condition=Q(state="failed"), name="notification_failed"),
            models.Index(
                fields=["about"],
                condition=Q(kind="review", read_at__isnull=True),
                name="notification_of_review",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} · {self.user}"


class MailLink(models.Model):
    """A link by which one person approves one gate visit from a mail (law §15). Only the SHA-256 of its token is kept;
    `used_at` is set in the transaction of the vote."""

    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="mail_links")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    token_version = models.PositiveIntegerField()
    evidence_digest = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.visit} · {self.user}"


class AskedPlace(models.Model):
    """Place that an open gate visit asks: one row for each (kind, name) that its policy names, and none once
    it is decided or closed. Narrow, so that lists, counts and the badge ask SQL who may decide
    (`reviews.decision.review_access`). What changes with people (roles, groups, votes, who can sign in) is not
    stored here but looked up. `order_at`: its place when due first, then the oldest. `first` holds for one
    row of each visit."""

    # The index of the constraint on places begins with it
    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="asked_places", db_index=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    line = models.ForeignKey(Line, models.CASCADE, related_name="+", db_index=False)
    gate = models.CharField(max_length=64)
    kind = models.CharField(max_length=5, help_text="role, group, user or owner")
    name = models.CharField(max_length=150)
    first = models.BooleanField()
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+", db_index=False
    )
    barred = ArrayField(
        models.IntegerField(),
        default=list,
        help_text="Requester and producers, where they may not decide.",
    )
    opened_at = models.DateTimeField()
    order_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["visit", "kind", "name"], name="one_place_of_a_visit"),
            models.UniqueConstraint(
                fields=["visit"], condition=Q(first=True), name="one_first_place_of_a_visit"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["role", "group", "user", "owner"]), name="asked_kind_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "kind", "name", "order_at", "visit"],
                # What the conditions of a list look at comes from the index, too
                include=["barred", "line", "gate", "opened_at"],
                name="asked_in_order",
            ),
            models.Index(
                fields=["project", "order_at", "visit"], condition=Q(first=True), name="asked_of_team"
            ),
            models.Index(
                fields=["requester", "order_at", "visit"], condition=Q(first=True), name="asked_by_requester"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.gate} · {self.kind} {self.name}"


class Remark(models.Model):
    """A reviewer's remark on one line of the changes. It is a draft until its author decides on the visit; then its
    text is part of that decision. `content`: digest of the file; `quoted`: its line."""

    class Resolution(models.TextChoices):
        UNCHECKED = "", "Not checked"
        RESOLVED = "resolved", "Resolved"
        OPEN = "open", "Not resolved"

    class Side(models.TextChoices):
        OLD = "old", "Before"
        NEW = "new", "Now"

    visit = models.ForeignKey(GateVisit, models.CASCADE, related_name="remarks")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="remarks")
    path = models.TextField()
    side = models.CharField(max_length=3, choices=Side.choices)
    line = models.PositiveIntegerField()
    content = models.CharField(max_length=64)
    quoted = models.TextField(blank=True)
    text = models.TextField()
    at = models.DateTimeField()
    resolution = models.CharField(max_length=8, choices=Resolution.choices, blank=True, default="")
    checked_in = models.ForeignKey(
        GateVisit,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="In which round its author said so.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(resolution__in=["", "resolved", "open"]), name="remark_resolution_known"
            ),
            models.CheckConstraint(
                condition=Q(side__in=["old", "new"], line__gte=1), name="remark_names_a_line"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"
