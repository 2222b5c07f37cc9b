"""Viewed content of a reader: whole trees, and single files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, CharField, QuerySet
from django.utils import timezone

from pipelines.models import SeenTree, Task, User, ViewedFile
from pipelines.models.plumbing.compiled_queries import compiled


def record_view(user: User, task: Task, token_id: int, moment: datetime, digest: str) -> None:
    """Record that the reader was shown this tree."""
    # By its digest: the same files are one tree, however often they are shown
    SeenTree.objects.update_or_create(
        user=user,
        task=task,
        digest=digest,
        defaults={"token_id": token_id, "moment": moment, "at": timezone.now()},
    )


def last_viewed_other_tree_or_none(user: User, task: Task, digest: str) -> SeenTree | None:
    """Return the tree of the task's files that the user saw last, other than the tree `digest`."""
    return _other_trees.first(user=user.pk, task=task.pk, digest=digest)


@compiled(user=BigIntegerField(), task=BigIntegerField(), digest=CharField())
def _other_trees(user: Any, task: Any, digest: Any) -> QuerySet[SeenTree]:
    other_trees = SeenTree.objects.filter(user=user, task=task).exclude(digest=digest)
    return other_trees.order_by("-at", "-pk")[:1]


@dataclass(frozen=True)
class ReaderFiles:
    """(path, content) of files: `opened` were shown to their end or marked, `viewed` were marked."""

    opened: frozenset[tuple[str, str]]
    viewed: frozenset[tuple[str, str]]


def files_reader_viewed_and_marked(user: User, task: Task) -> ReaderFiles:
    rows = ViewedFile.objects.filter(user=user, task=task).values_list("path", "content", "marked")
    viewed = {(path, content): marked for path, content, marked in rows}
    return ReaderFiles(frozenset(viewed), frozenset(key for key, marked in viewed.items() if marked))


def record_opened(user: User, task: Task, files: Iterable[tuple[str, str]]) -> None:
    """Record that the reader was shown the files, (path, content), to their end."""
    at = timezone.now()
    rows = [
        ViewedFile(user=user, task=task, path=path, content=content, marked=False, at=at)
        for path, content in files
    ]
    # A row that is there already stays: it may be marked, or of another tab.
    ViewedFile.objects.bulk_create(rows, ignore_conflicts=True)


def mark_viewed(user: User, task: Task, path: str, content: str, on: bool) -> None:
    ViewedFile.objects.update_or_create(
        user=user,
        task=task,
        path=path,
        content=content,
        defaults={"marked": on},
        # `at` stays the time of the first look.
        create_defaults={"marked": on, "at": timezone.now()},
    )
