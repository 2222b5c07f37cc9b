"""Common parts of answers to escalations and deadlocks: somebody with the role answers once, with one of the
offered words and a reason."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from pipelines.engine.core.values import Actor
from pipelines.engine.moves import roles
from pipelines.engine.moves.entitlement import entitled_person_or_none
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import Deadlock, Escalation, User
from pipelines.routing.sentences.escalations import role_words

Answerable = TypeVar("Answerable", Escalation, Deadlock)


@dataclass(frozen=True)
class RoleAnswer:
    user: User
    word: str
    reason: str

    @property
    def actor(self) -> Actor:
        return Actor.person(self.user)


def checked_row_to_answer(
    record: Answerable | None, answer: RoleAnswer, words: Collection[str], offered: Collection[str]
) -> Answerable:
    """Return the row that is answered. `words`: every known word; `offered`: those allowed here. Raises NotFound (no
    such row, or not a member), Forbidden (asked of another role), Invalid (path `word` or `reason`)."""
    if record is None or entitled_person_or_none(record.task.project_id, answer.user) is None:
        raise NotFound()
    if not roles.may_user_answer_for_roles(record.task.project_id, record.roles, answer.user):
        raise Forbidden(f"This is for {role_words(record.role)}.")
    if answer.word not in offered:
        raise Invalid.at(
            "word",
            f"“{answer.word}” is not offered here",
            f"Use one of {', '.join(words)}.",
        )
    if not answer.reason:
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")
    return record


def refuse_if_resolved(record: Escalation | Deadlock) -> None:
    """Raises Conflict if it is already resolved."""
    if record.resolved_at is not None:
        raise Conflict("This is already resolved.", by=str(record.resolved_by or ""), at=record.resolved_at)
