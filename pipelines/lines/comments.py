"""Comments of members on the parts of a line. They belong to the line, not to its document: publishing,
restoring and undoing leave them alone, and a part that is gone keeps its comments."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Sum

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Forbidden, Invalid, first_row_or_raise_not_found
from pipelines.lines import mentions
from pipelines.models import Comment, Line, User
from pipelines.ports.observers import LineHint, publish_committed_hints

LONGEST = 4_000
LONGEST_KEY = 200
MOST = 1_000
"""Of one line, answers among them; what was deleted does not count."""


def comments_revision(line: Line) -> int:
    """Return a number that grows with every change of a comment of the line, whatever order the changes are
    committed in."""
    return line.comments.aggregate(sum=Sum("revision"))["sum"] or 0


def threads_oldest_first(line: Line) -> list[dict[str, Any]]:
    """Return the threads of the line in plain values, oldest first. A deleted comment stays while it has
    answers."""
    rows = line.comments.select_related("author", "resolved_by").order_by("created_at", "id")
    replies: dict[uuid.UUID, list[dict[str, Any]]] = {}
    threads = []
    for row in rows:
        if row.parent_id is None:
            threads.append(row)
        elif row.deleted_at is None:
            replies.setdefault(row.parent_id, []).append(comment_dict(row))
    visible_threads = (row for row in threads if row.deleted_at is None or row.pk in replies)
    return [{**comment_dict(row), "replies": replies.get(row.pk, [])} for row in visible_threads]


def comment_dict(row: Comment) -> dict[str, Any]:
    """Return one comment in plain values; a deleted one has neither text nor author."""
    deleted = row.deleted_at is not None
    return {
        "id": str(row.pk),
        "kind": row.kind,
        "key": row.key,
        "text": row.text,
        "by": None if deleted else _person_fields_or_none(row.author),
        "at": row.created_at.isoformat(),
        "edited": row.edited_at.isoformat() if row.edited_at else None,
        "resolved": row.resolved_at.isoformat() if row.resolved_at else None,
        "resolved_by": _person_fields_or_none(row.resolved_by),
        "deleted": deleted,
        "revision": row.revision,
    }


def _person_fields_or_none(user: User | None) -> dict[str, Any] | None:
    return {"id": user.pk, "name": str(user)} if user else None


def write_comment(
    line: Line,
    user: User,
    text: str,
    now: datetime,
    *,
    kind: str = "",
    key: str = "",
    parent: uuid.UUID | None = None,
    pk: uuid.UUID | None = None,
) -> Comment:
    """A new thread at a place, or an answer in one (`parent`), which takes the place of its thread. Written twice under
    one `pk` it is there once, with the text of the first time.

    Raises Forbidden, NotFound (the thread), Invalid (with the field), Conflict (too many; the id is taken)."""
    access.require_permission(user, "comment", line.project)
    clean_text = _checked_text(text)
    with transaction.atomic():
        # One after the other on a line, so that the count is true.
        Line.objects.select_for_update(of=("self",), no_key=True).get(pk=line.pk)
        # Under the lock, so that a request which comes twice at once finds the first.
        if pk is not None and (known := Comment.objects.filter(pk=pk).first()):
            return _comment_of_same_author_or_raise(known, line, user)
        if line.comments.filter(deleted_at=None).count() >= MOST:
            raise Conflict(f"This line has {MOST} comments. Delete some that are settled.")
        thread = _checked_thread_to_answer(line, parent) if parent else None
        place = (thread.kind, thread.key) if thread else _checked_kind_and_key(kind, key)
        row = Comment.objects.create(
            pk=pk or uuid.uuid4(),
            line=line,
            kind=place[0],
            key=place[1],
            parent=thread,
            text=clean_text,
            author=user,
            created_at=now,
        )
        mentions.notify_mentioned(line, row, user, now)
        _send_hint_that_comments_changed(line)
    return row


def edit_comment(line: Line, pk: uuid.UUID, user: User, text: str, revision: int, now: datetime) -> Comment:
    """Other words for what one wrote oneself. `revision`: the one that was changed; another one is a Conflict.

    Raises Forbidden, NotFound, Invalid, Conflict."""
    clean_text = _checked_text(text)
    with transaction.atomic():
        row = _get_own_comment(line, pk, user)
        # The same words once more are no conflict: a request may be repeated.
        if row.revision != revision and row.text != clean_text:
            raise Conflict("This comment has changed in the meantime. Reload the page.")
        if row.text != clean_text:
            row.text, row.edited_at = clean_text, now
            _save_with_next_revision(row, "text", "edited_at")
            mentions.notify_mentioned(line, row, user, now)
    return row


def resolve_thread(line: Line, pk: uuid.UUID, user: User, resolved: bool, now: datetime) -> Comment:
    """Settle a whole thread, or open it again; anybody who may comment may. Twice is once.

    Raises Forbidden, NotFound, Invalid (an answer is not resolved by itself)."""
    with transaction.atomic():
        row = _get_comment(line, pk, user)
        if row.parent_id is not None:
            raise Invalid.at(
                "resolved", "is of a thread, not of an answer", "Resolve the comment it answers."
            )
        if (row.resolved_at is not None) != resolved:
            row.resolved_at, row.resolved_by = (now, user) if resolved else (None, None)
            _save_with_next_revision(row, "resolved_at", "resolved_by")
    return row


def delete_comment(line: Line, pk: uuid.UUID, user: User, now: datetime) -> None:
    """Delete a comment of one's own: the text goes, the answers stay.

    Raises Forbidden, NotFound.
    """
    with transaction.atomic():
        row = _get_own_comment(line, pk, user)
        # The row stays, since answers hang below it
        row.text, row.deleted_at = "", now
        _save_with_next_revision(row, "text", "deleted_at")


def move_comments_to_new_keys(line: Line, rekeyed: Mapping[tuple[str, str], str]) -> None:
    """Let comments follow parts that have a new key: {(kind, old key): new key}."""
    changed = 0
    for (kind, first), last in rekeyed.items():
        rows = Comment.objects.filter(line=line, kind=kind, key=first)
        changed += rows.update(key=last, revision=F("revision") + 1)
    if changed:
        _send_hint_that_comments_changed(line)


def _comment_of_same_author_or_raise(known: Comment, line: Line, user: User) -> Comment:
    if known.line_id != line.pk or known.author_id != user.pk:
        raise Conflict("This id is already used. Choose another one.")
    return known


def _checked_thread_to_answer(line: Line, pk: uuid.UUID) -> Comment:
    row = first_row_or_raise_not_found(line.comments.filter(pk=pk))
    if row.parent_id is not None:
        raise Invalid.at("parent", "is itself an answer", "Answer the comment that started the thread.")
    if row.resolved_at is not None:
        raise Conflict("This thread is resolved. Reopen it to answer.")
    return row


def _checked_kind_and_key(kind: str, key: str) -> tuple[str, str]:
    """Return the kind and key of a part, checked. Whether the part exists is not checked: the draft of the
    author may be ahead of the stored one."""
    if kind not in Comment.PartKind.values:
        raise Invalid.at("kind", f"has to be one of {', '.join(Comment.PartKind.values)}")
    if (kind == Comment.PartKind.LINE) != (key == ""):
        raise Invalid.at(
            "key", "is for a part", "A comment on the line has none. Any other comment names its part."
        )
    return kind, payload.checked_text(key, "key", LONGEST_KEY)


def _checked_text(text: str) -> str:
    clean_text = payload.checked_text(text, "text", LONGEST).strip()
    if not clean_text:
        raise Invalid.at("text", "is empty", "Enter a comment.")
    return clean_text


def _get_comment(line: Line, pk: uuid.UUID, user: User) -> Comment:
    access.require_permission(user, "comment", line.project)
    return first_row_or_raise_not_found(
        line.comments.select_for_update(of=("self",)).filter(pk=pk, deleted_at=None)
    )


def _get_own_comment(line: Line, pk: uuid.UUID, user: User) -> Comment:
    row = _get_comment(line, pk, user)
    if row.author_id != user.pk:
        raise Forbidden("Only its author can change or delete this comment.")
    return row


def _save_with_next_revision(row: Comment, *fields: str) -> None:
    row.revision += 1
    row.save(update_fields=[*fields, "revision"])
    _send_hint_that_comments_changed(row.line)


def _send_hint_that_comments_changed(line: Line) -> None:
    hint = LineHint(line.project_id, line.pk, "comments", comments_revision(line))
    # After the commit: whoever fetches at the hint has to see the change.
    transaction.on_commit(lambda: publish_committed_hints([hint]))
