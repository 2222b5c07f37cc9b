"""Issues and requests of a host that tasks belong to, what starts tasks from there, and what is told there."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from pipelines.models.lines import Line
from pipelines.models.repositories import Repository
from pipelines.models.tasks import Task


class IssueTrigger(models.Model):
    """An issue that gets this label, or is assigned to this account of the host, starts a task of the line."""

    class On(models.TextChoices):
        LABEL = "label", "gets the label"
        ASSIGNEE = "assignee", "is assigned to"

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="triggers")
    line = models.ForeignKey(Line, models.CASCADE, related_name="issue_triggers")
    on = models.CharField(max_length=8, choices=On.choices, default=On.LABEL)
    value = models.CharField(max_length=100)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="+",
        help_text="It starts tasks as long as this person may.",
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["repository", "line", "on", "value"], name="one_trigger_of_a_kind"
            )
        ]

    def __str__(self) -> str:
        return f"{self.on} {self.value}"


class HostLink(models.Model):
    """An issue that started a task, the request that a task opened, or its branch, which was only pushed (number 0)."""

    class LinkKind(models.TextChoices):
        ISSUE = "issue", "Issue"
        REQUEST = "request", "Request"
        BRANCH = "branch", "Branch"

    task = models.ForeignKey(Task, models.CASCADE, related_name="host_links")
    repository = models.ForeignKey(Repository, models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=7, choices=LinkKind.choices)
    number = models.PositiveBigIntegerField()
    sign = models.CharField(max_length=1, default="#")
    url = models.CharField(max_length=1000)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "kind", "number"], name="one_link_of_a_task")]
        indexes = [models.Index(fields=["repository", "kind", "number"], name="link_by_number")]

    def __str__(self) -> str:
        return "" if self.kind == self.LinkKind.BRANCH else f"{self.sign}{self.number}"


class HookReceipt(models.Model):
    """A signed delivery of a host that was taken: what is sent again is refused. Kept for some days."""

    repository = models.ForeignKey(Repository, models.CASCADE, related_name="hook_receipts")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the body, which is what was signed.")
    said = models.CharField(max_length=500, help_text="What became of it.")
    task = models.ForeignKey(Task, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["repository", "digest"], name="each_delivery_once")]
        indexes = [models.Index(fields=["repository", "-at"], name="hook_receipt_latest")]

    def __str__(self) -> str:
        return self.said


class HostNotice(models.Model):
    """Notice at an issue or a request: a comment, the status of the commit, or that a request leaves the
    queue. `about`: started, ended, status, withdraw, or gate:<visit>; the text is made when it is sent.
    Only a queued notice is sent by itself; its `error` says why the last attempt was in vain."""

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        SENT = "sent", "Sent"
        FAILED = "failed", "Failed"
        DROPPED = "dropped", "Dropped"

    link = models.ForeignKey(HostLink, models.CASCADE, related_name="notices")
    about = models.CharField(max_length=60)
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField()
    queued_at = models.DateTimeField(help_text="When it was put into the queue last.")
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["link", "about"], name="one_notice_of_a_kind")]
        indexes = [
            models.Index(fields=["id"], condition=Q(state="queued"), name="notice_queued"),
            models.Index(fields=["id"], condition=Q(state="failed"), name="host_notice_failed"),
        ]

    def __str__(self) -> str:
        return self.about

    @property
    def subject(self) -> str:
        """Content of the notice, in words."""
        what = {"status": "Commit status", "withdraw": "Withdrawal from the merge queue"}
        return str(what.get(self.about, "Comment"))
