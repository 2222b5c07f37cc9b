"""Claiming, asking and snoozing over HTTP, for the person whose token it is."""

from __future__ import annotations

from pydantic import AwareDatetime

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, TASK, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import Conflict, NotFound, first_row_or_raise_not_found
from pipelines.models import GateVisit, Task, User
from reviews.attention import questions, snoozes
from reviews.models import ReviewQuestion
from reviews.review import attention_actions
from reviews.review.attention_out import QuestionOut, ReviewClaimOut

router = Operations("gates", CHANGES)
GATE = TASK + "/gates/{gate}"
REFUSAL = "This token may not decide gates."


class QuestionIn(StrictBody):
    text: str


class SnoozeIn(StrictBody):
    until: AwareDatetime


@router.post(GATE + "/claim", response=ReviewClaimOut, summary="Claim a review")
@action_required("decide", REFUSAL)
def claim_review(request: Request, task: Task, gate: str) -> ReviewClaimOut:
    """Claim a review for an hour; others see it and may decide all the same. 409: claimed by somebody else."""
    visit, user = _sole_open_visit_and_user(request, task, gate)
    review_claim = attention_actions.claim_if_user_may_decide(visit, user)
    return ReviewClaimOut.from_claim(review_claim)


@router.delete(GATE + "/claim", response={204: None}, summary="Release a claim")
@action_required("decide", REFUSAL)
def release_review_claim(request: Request, task: Task, gate: str) -> None:
    """One's own; an administrator's anybody's."""
    visit, user = _sole_open_visit_and_user(request, task, gate)
    attention_actions.release_own_claim_or_any_as_administrator(visit, user)


@router.get(GATE + "/questions", response=list[QuestionOut], summary="Questions of a review")
def list_reviewer_questions(request: Request, task: Task, gate: str) -> list[QuestionOut]:
    """List the questions of all rounds, the oldest first."""
    require_person(request.auth)
    visit = first_row_or_raise_not_found(
        task.gate_visits.filter(gate=gate).select_related("task").order_by("-opened_at"),
        "The task has not been at this gate.",
    )
    return [
        QuestionOut.from_question(question) for question in questions.questions_at_gate_of_all_rounds(visit)
    ]


@router.post(GATE + "/questions", response={201: QuestionOut}, summary="Ask the requester")
@action_required("decide", REFUSAL)
def ask_reviewer_question(request: Request, task: Task, gate: str, payload: QuestionIn) -> QuestionOut:
    """The review stays open, and its votes stay valid. 403: a person whom this gate does not ask."""
    visit, user = _sole_open_visit_and_user(request, task, gate)
    return QuestionOut.from_question(
        attention_actions.ask_requester_if_user_may_decide(visit, user, payload.text)
    )


@router.post(GATE + "/questions/{question}/answer", response=QuestionOut, summary="Answer a reviewer")
def answer_reviewer_question(
    request: Request,
    owner: str,
    project: str,
    line: str,
    task: str,
    gate: str,
    question: int,
    payload: QuestionIn,
) -> QuestionOut:
    """403: somebody else was asked · 409: answered before."""
    stored_task = access.task_of_line_by_name(request.auth, owner, project, line, task)
    user = require_person(request.auth)
    access.require_permission(request.auth, "decide", stored_task.project)
    # Beyond a bigint there is no question
    if not 0 < question < 2**63:
        raise NotFound("This question does not exist.")
    row = ReviewQuestion.objects.filter(pk=question, task=stored_task, gate=gate)
    stored_question = first_row_or_raise_not_found(
        row.select_related("visit__task__project"), "This question does not exist."
    )
    return QuestionOut.from_question(
        questions.answer_question(stored_question.visit, question, user, payload.text)
    )


@router.put(GATE + "/snooze", response={204: None}, summary="See a review later")
@action_required("decide", REFUSAL)
def snooze_review(request: Request, task: Task, gate: str, payload: SnoozeIn) -> None:
    """Only the own list leaves it out until then; it stays due."""
    visit, user = _sole_open_visit_and_user(request, task, gate)
    attention_actions.snooze_if_user_may_decide(visit, user, payload.until)


@router.delete(GATE + "/snooze", response={204: None}, summary="See a review again")
@action_required("decide", REFUSAL)
def end_review_snooze(request: Request, task: Task, gate: str) -> None:
    visit, user = _sole_open_visit_and_user(request, task, gate)
    snoozes.end_snooze(visit, user)


def _sole_open_visit_and_user(request: Request, task: Task, gate: str) -> tuple[GateVisit, User]:
    """The open visit. Raises NotFound, Forbidden, Conflict (none is open, or several are)."""
    user = require_person(request.auth)
    rows = task.gate_visits.filter(gate=gate).select_related(
        "task__project", "task__requester", "job", "asked_by"
    )
    visits = list(rows)
    if not visits:
        raise NotFound("The task has not been at this gate.")
    waiting = [visit for visit in visits if visit.state == GateVisit.State.OPEN]
    if not waiting:
        raise Conflict("This review is closed.")
    if len(waiting) > 1:
        raise Conflict("Several branches wait at this gate. Use the page of the review.")
    return waiting[0], user
