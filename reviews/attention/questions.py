"""Asking the requester of a task about what is under review. The review stays open, and its votes stay valid."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, CharField, QuerySet

from pipelines.errors import Conflict, Forbidden, Invalid, first_row_or_raise_not_found
from pipelines.models import GateVisit, Membership, User
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.ports import clock
from pipelines.ports.observers import QuestionAnswered, QuestionRaised, emit_consequences
from reviews.attention.hints import hint_active_members_on_commit
from reviews.models import ReviewQuestion

LONGEST = 10_000
MOST = 20
"""Questions at one visit."""


@transaction.atomic
def ask_requester_in_open_review(visit: GateVisit, user: User, text: str) -> ReviewQuestion:
    """Raises Invalid (path `text`: empty, too long, too many, nobody to ask), Conflict (closed)."""
    text = _stripped_valid_text(text)
    # Held until the commit, so that a question is not asked at a visit that closes, nor one too many.
    open_one = GateVisit.objects.select_for_update(of=("self",)).filter(
        pk=visit.pk, state=GateVisit.State.OPEN
    )
    if not open_one.exists():
        raise Conflict("This review is closed.")
    requester = active_member_requester_or_none(visit)
    if requester is None:
        raise Invalid.at(
            "text", "The requester cannot be asked.", "The requester is no member of the project."
        )
    # Nobody would be told: whoever asks themselves has the answer
    if requester == user:
        raise Invalid.at("text", "You requested this task.", "Ask somebody else.")
    # Of all reviewers together: the requester answers each of them
    if ReviewQuestion.objects.filter(visit=visit).count() >= MOST:
        raise Invalid.at("text", "Too many questions.", "Decide, or send the task back.")
    question = ReviewQuestion.objects.create(
        visit=visit,
        task_id=visit.task_id,
        gate=visit.gate,
        asked_by=user,
        asked=requester,
        text=text,
        at=clock.now(),
    )
    emit_consequences(
        QuestionRaised(
            question.pk,
            visit.pk,
            visit.task_id,
            visit.task.project_id,
            user.pk,
            str(user),
            requester.pk,
            text,
            question.at,
        )
    )
    hint_active_members_on_commit(visit.task.project)
    return question


@transaction.atomic
def answer_question(visit: GateVisit, question: int, user: User, text: str) -> ReviewQuestion:
    """Raises NotFound, Forbidden (somebody else was asked), Invalid (path `text`), Conflict (answered before)."""
    stored_question = first_row_or_raise_not_found(
        ReviewQuestion.objects.select_for_update().filter(pk=question, visit=visit),
        "This question does not exist.",
    )
    if stored_question.asked_id != user.pk:
        raise Forbidden("Only the person who was asked can answer.")
    if stored_question.answered_at is not None:
        raise Conflict(
            "You have already answered this question.", by=str(user), at=stored_question.answered_at
        )
    stored_question.answer, stored_question.answered_at = _stripped_valid_text(text), clock.now()
    stored_question.save(update_fields=["answer", "answered_at"])
    emit_consequences(
        QuestionAnswered(
            stored_question.pk,
            visit.pk,
            visit.task_id,
            visit.task.project_id,
            user.pk,
            str(user),
            stored_question.asked_by_id,
            stored_question.text,
            stored_question.answered_at,
        )
    )
    hint_active_members_on_commit(visit.task.project)
    return stored_question


def active_member_requester_or_none(visit: GateVisit) -> User | None:
    """Return the requester of the task, if they are a member who can sign in."""
    requester = visit.task.requester
    if requester is None or not requester.is_active:
        return None
    here = Membership.objects.filter(user=requester, project=visit.task.project_id)
    return requester if here.exists() else None


def questions_at_gate_of_all_rounds(visit: GateVisit) -> list[ReviewQuestion]:
    """Return all questions of this gate in the task, of earlier rounds too, the oldest first."""
    return _thread_rows(task=visit.task_id, gate=visit.gate)


@compiled(task=BigIntegerField(), gate=CharField())
def _thread_rows(task: Any, gate: Any) -> QuerySet[ReviewQuestion]:
    rows = ReviewQuestion.objects.filter(task=task, gate=gate)
    return rows.select_related("asked_by", "asked", "visit").order_by("pk")[:200]


def _stripped_valid_text(text: str) -> str:
    text = text.strip()
    if not text:
        raise Invalid.at("text", "Enter a text.")
    if len(text) > LONGEST or "\x00" in text:
        raise Invalid.at("text", "This text cannot be stored.", f"At most {LONGEST} characters.")
    return text
