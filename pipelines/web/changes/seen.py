"""What a reader has seen: whole trees, and single files."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, CharField, QuerySet
from django.utils import timezone

from pipelines.models import SeenTree, Task, User, ViewedFile
from pipelines.models.compiled import compiled


def look(user: User, task: Task, token_id: int, moment: datetime, digest: str) -> None:
    """The reader was shown this tree."""
    SeenTree.objects.update_or_create(
        user=user,
        task=task,
        digest=digest,
        defaults={"token_id": token_id, "moment": moment, "at": timezone.now()},
    )


def before(user: User, task: Task, digest: str) -> SeenTree | None:
    """What they saw last of the task's files, other than the tree `digest`."""
    return _others.first(user=user.pk, task=task.pk, digest=digest)


@compiled(user=BigIntegerField(), task=BigIntegerField(), digest=CharField())
def _others(user: Any, task: Any, digest: Any) -> QuerySet[SeenTree]:
    seen = SeenTree.objects.filter(user=user, task=task).exclude(digest=digest)
    return seen.order_by("-at", "-pk")[:1]


def viewed(user: User, task: Task) -> set[tuple[str, str]]:
    """(path, content) of the files marked as viewed."""
    return set(ViewedFile.objects.filter(user=user, task=task).values_list("path", "content"))


def mark(user: User, task: Task, path: str, content: str, on: bool) -> None:
    if on:
        ViewedFile.objects.get_or_create(
            user=user, task=task, path=path, content=content, defaults={"at": timezone.now()}
        )
    else:
        ViewedFile.objects.filter(user=user, task=task, path=path, content=content).delete()
