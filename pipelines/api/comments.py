"""Comments on the parts of a line over HTTP (docs/drawing.md)."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Literal

from django.utils import timezone
from pydantic import BaseModel, Field, StrictBool

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, LINE, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import Invalid
from pipelines.lines import comments
from pipelines.models import Line

router = Operations("comments", CHANGES)
COMMENTS = LINE + "/comments"
Kind = Literal["line", "station", "rule", "gate"]


class PersonOut(BaseModel):
    id: int
    name: str


class AnswerOut(BaseModel):
    """Comment, or answer to one. `by` is absent where the account is gone; `revision` counts the changes of
    this comment."""

    id: uuid.UUID
    kind: Kind
    key: str
    text: str
    by: PersonOut | None
    at: datetime
    edited: datetime | None
    resolved: datetime | None
    resolved_by: PersonOut | None
    deleted: bool
    revision: int


class ThreadOut(AnswerOut):
    """A deleted one is here without text and author while it has answers."""

    replies: list[AnswerOut]


class CommentIn(StrictBody):
    """Comment on a part: `kind` and, but for the line itself, `key` (of a rule its id). Or an answer:
    `parent`. `id`: a UUID of your own makes sending it twice harmless."""

    text: str
    kind: Kind | None = None
    key: str = ""
    parent: uuid.UUID | None = None
    id: uuid.UUID | None = None


class ChangeIn(StrictBody):
    """`text` with the `revision` that was changed, or `resolved`."""

    text: str | None = None
    revision: int | None = Field(default=None, ge=0, le=2**31 - 1)
    resolved: StrictBool | None = None


@router.get(COMMENTS, response=list[ThreadOut], summary="List comments")
def index(request: Request, line: Line) -> list[dict[str, Any]]:
    """The threads of a line with their answers, oldest first."""
    return comments.threads_oldest_first(line)


@router.post(COMMENTS, response={201: AnswerOut}, summary="Comment or answer")
@action_required("comment")
def write(request: Request, line: Line, payload: CommentIn) -> dict[str, Any]:
    row = comments.write_comment(
        line,
        require_person(request.auth),
        payload.text,
        timezone.now(),
        kind=payload.kind or "",
        key=payload.key,
        parent=payload.parent,
        pk=payload.id,
    )
    return comments.comment_dict(row)


@router.patch(COMMENTS + "/{comment}", response=AnswerOut, summary="Edit, resolve or reopen")
@action_required("comment")
def change(request: Request, line: Line, comment: uuid.UUID, payload: ChangeIn) -> dict[str, Any]:
    """Only who wrote a comment edits it; every member resolves and reopens a thread."""
    user, now = require_person(request.auth), timezone.now()
    if (payload.text is None) == (payload.resolved is None):
        raise Invalid.at("text", "or `resolved` is needed, and not both")
    if payload.text is None:
        return comments.comment_dict(
            comments.resolve_thread(line, comment, user, bool(payload.resolved), now)
        )
    if payload.revision is None:
        raise Invalid.at("revision", "is missing", "Name the revision that you changed.")
    return comments.comment_dict(
        comments.edit_comment(line, comment, user, payload.text, payload.revision, now)
    )


@router.delete(COMMENTS + "/{comment}", response={204: None}, summary="Delete a comment")
@action_required("comment")
def delete(request: Request, line: Line, comment: uuid.UUID) -> None:
    """Only one's own. Its answers stay."""
    comments.delete_comment(line, comment, require_person(request.auth), timezone.now())
