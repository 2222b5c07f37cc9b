"""Claiming, asking and snoozing over HTTP, for the person whose token it is."""

from __future__ import annotations

from django.utils.translation import gettext as _
from ninja import Router, Status
from pydantic import AwareDatetime

from pipelines import access
from pipelines.api.auth import Request, person_of
from pipelines.api.lookup import TASK
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import Strict
from pipelines.errors import Conflict, Forbidden, NotFound
from pipelines.models import GateVisit, User
from reviews.attention import questions, snoozes
from reviews.models import ReviewQuestion
from reviews.review import attending
from reviews.review.attending_out import QuestionOut, ReviewClaimOut

router = Router(tags=["gates"])
GATE = TASK + "/gates/{gate}"
ERRORS = dict.fromkeys((400, 401, 403, 404, 409), ProblemOut)


class QuestionIn(Strict):
    text: str


class SnoozeIn(Strict):
    until: AwareDatetime


@router.post(GATE + "/claim", response={200: ReviewClaimOut, **ERRORS}, summary="Claim a review")
def claim(request: Request, owner: str, project: str, line: str, task: str, gate: str) -> ReviewClaimOut:
    """For an hour; others see it and may decide all the same. 409: claimed by somebody else."""
    visit, user = _open(request, owner, project, line, task, gate)
    held = attending.claim(visit, user)
    return ReviewClaimOut.of(held)


@router.delete(GATE + "/claim", response={204: None, **ERRORS}, summary="Release a claim")
def release(request: Request, owner: str, project: str, line: str, task: str, gate: str) -> Status[None]:
    """One's own; an administrator's anybody's."""
    visit, user = _open(request, owner, project, line, task, gate)
    attending.release(visit, user)
    return Status(204, None)


@router.get(GATE + "/questions", response={200: list[QuestionOut], **ERRORS}, summary="Questions of a review")
def index(request: Request, owner: str, project: str, line: str, task: str, gate: str) -> list[QuestionOut]:
    """Of all rounds, the oldest first."""
    found = access.get_task(request.auth, owner, project, line, task)
    access.require(request.auth, "view", found.project)
    person_of(request.auth)
    visit = found.gate_visits.filter(gate=gate).select_related("task").order_by("-opened_at").first()
    if visit is None:
        raise NotFound(_("The task has not been at this gate."))
    return [QuestionOut.of(each) for each in questions.thread(visit)]


@router.post(GATE + "/questions", response={201: QuestionOut, **ERRORS}, summary="Ask the requester")
def ask(
    request: Request, owner: str, project: str, line: str, task: str, gate: str, payload: QuestionIn
) -> Status[QuestionOut]:
    """The review stays open, and its votes stay valid. 403: a person whom this gate does not ask."""
    visit, user = _open(request, owner, project, line, task, gate)
    return Status(201, QuestionOut.of(attending.ask(visit, user, payload.text)))


@router.post(
    GATE + "/questions/{question}/answer", response={200: QuestionOut, **ERRORS}, summary="Answer a reviewer"
)
def answer(
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
    found = access.get_task(request.auth, owner, project, line, task)
    user = _person(request)
    access.require(request.auth, "decide", found.project)
    if not 0 < question < 2**63:
        raise NotFound(_("This question does not exist."))
    row = ReviewQuestion.objects.filter(pk=question, task=found, gate=gate)
    asked = row.select_related("visit__task__project").first()
    if asked is None:
        raise NotFound(_("This question does not exist."))
    return QuestionOut.of(questions.answer(asked.visit, question, user, payload.text))


@router.put(GATE + "/snooze", response={204: None, **ERRORS}, summary="See a review later")
def snooze(
    request: Request, owner: str, project: str, line: str, task: str, gate: str, payload: SnoozeIn
) -> Status[None]:
    """Only the own list leaves it out until then; it stays due."""
    visit, user = _open(request, owner, project, line, task, gate)
    attending.snooze(visit, user, payload.until)
    return Status(204, None)


@router.delete(GATE + "/snooze", response={204: None, **ERRORS}, summary="See a review again")
def wake(request: Request, owner: str, project: str, line: str, task: str, gate: str) -> Status[None]:
    visit, user = _open(request, owner, project, line, task, gate)
    snoozes.wake(visit, user)
    return Status(204, None)


def _person(request: Request) -> User:
    """Raises Forbidden for a machine, and for a token that may not decide."""
    return person_of(request.auth)


def _open(
    request: Request, owner: str, project: str, line: str, task: str, gate: str
) -> tuple[GateVisit, User]:
    """The open visit. Raises NotFound, Forbidden, Conflict (none is open, or several are)."""
    found = access.get_task(request.auth, owner, project, line, task)
    if not access.can(request.auth, "decide", found.project):
        raise Forbidden(_("This token may not decide gates."))
    user = _person(request)
    rows = found.gate_visits.filter(gate=gate).select_related(
        "task__project", "task__requester", "job", "asked_by"
    )
    visits = list(rows)
    if not visits:
        raise NotFound(_("The task has not been at this gate."))
    waiting = [each for each in visits if each.state == GateVisit.State.OPEN]
    if not waiting:
        raise Conflict(_("This review is closed."))
    if len(waiting) > 1:
        raise Conflict(_("Several branches wait at this gate. Use the page of the review."))
    return waiting[0], user
