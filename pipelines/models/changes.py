"""Records of what each reader has seen of a task's changes. They are the reader's alone and decide nothing."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from pipelines.models.tasks import Task, Token


class SeenTree(models.Model):
    """A reader was shown the files as `token` left them at `moment`. The newest other tree is what they saw last."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    task = models.ForeignKey(Task, models.CASCADE, related_name="+")
    token = models.ForeignKey(Token, models.CASCADE, related_name="+")
    moment = models.DateTimeField()
    digest = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "task", "digest"], name="one_row_per_seen_tree")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} · {self.digest[:12]}"


class ViewedFile(models.Model):
    """A reader was shown this content of this file to its end, or marked it as viewed; other content is another."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    task = models.ForeignKey(Task, models.CASCADE, related_name="+")
    path = models.TextField()
    content = models.CharField(max_length=65)
    marked = models.BooleanField(default=True, db_default=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "task", "path", "content"], name="one_mark_per_viewed_file"
            )
        ]

    def __str__(self) -> str:
        return self.path
