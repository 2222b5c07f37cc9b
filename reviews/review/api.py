"""`GET …/gates/{gate}/review`: what a review shows, for a person who decides from a terminal. What was looked at is
what a vote then names: `visit` and `evidence` (law §6)."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from pydantic import AwareDatetime, BaseModel

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, TASK, Operations
from pipelines.api.positions import FieldOut
from pipelines.errors import Conflict, NotFound
from pipelines.formats.evidence.claims.claim_checks import CONFIRMED, CONTRADICTED
from pipelines.models import GateVisit, Task, User
from pipelines.queries.observed_facts import latest_fact_rows
from reviews.attention import claims, questions
from reviews.review.attention_out import QuestionOut, ReviewClaimOut
from reviews.review.changes import ReviewChanges
from reviews.review.detail import build_review_detail
from reviews.review.evidence import ReviewEvidence

router = Operations("gates", CHANGES)
FILES = 200
VERDICTS = {CONFIRMED: "confirmed", CONTRADICTED: "contradicted"}


class OfferOut(BaseModel):
    """A word that the gate offers, what follows from it, and the destinations of which a rejection names one."""

    action: str
    label: str
    then: str
    needs_reason: bool
    routes: list[str]


class ChangedFileOut(BaseModel):
    """`added` and `removed`: null where nobody counted the lines."""

    path: str
    change: str
    added: int | None
    removed: int | None


class ClaimOut(BaseModel):
    """Claim of an agent on what it did; `verdict`: confirmed, contradicted or unobserved, `observed` in
    words."""

    text: str
    verdict: str
    observed: str


class CheckedOut(BaseModel):
    """A check of the gate, or a fact: in words, and who says so."""

    words: str
    by: str


class CommandRunOut(BaseModel):
    """A command that a station ran on the work: `words` say what came out, `stale` that the files changed after it."""

    station: str
    command: str
    result: str
    exit_code: int | None
    words: str
    seconds: float | None
    stale: bool


class ReviewOut(BaseModel):
    """`may`: whether the person of this token may decide now; else `why` says why not. `files`: at most 200, the
    changes since the start; `more_files`: how many there are besides. `fields`: what an approval fills in.
    `ran`: which commands looked at it. `claims`: what the agent said it did; `claimed`: who looks after the review;
    `questions`: those to the requester. `page`: where everything is shown."""

    gate: str
    name: str
    task: str
    title: str
    description: str
    line: str
    station: str
    round: int
    opened: AwareDatetime
    state: str
    visit: str
    evidence: str
    asks_for: str
    approvals: int
    may: bool
    why: str
    summary: str
    output: Any
    offers: list[OfferOut]
    fields: list[FieldOut]
    files: list[ChangedFileOut]
    more_files: int
    added: int
    removed: int
    facts: list[CheckedOut]
    ran: list[CommandRunOut]
    claims: list[ClaimOut]
    claimed: ReviewClaimOut | None
    questions: list[QuestionOut]
    page: str


@router.get(
    TASK + "/gates/{gate}/review",
    response=ReviewOut,
    summary="What a gate shows",
)
def show(request: Request, task: Task, gate: str, visit: str = "") -> ReviewOut:
    """The gate visit that is open, else the last one; or the one that `visit` names.

    403: a machine, which never decides · 404: the task was never at this gate · 409: several branches wait at it."""
    reader = require_person(request.auth)
    return _review_as_api_row(_named_or_open_or_last_visit(task, gate, visit), reader)


def _named_or_open_or_last_visit(task: Task, gate: str, visit_key: str) -> GateVisit:
    rows = task.gate_visits.filter(gate=gate).order_by("-opened_at")
    visits = list(
        rows.select_related("task__project__owner", "task__line", "task__pinned", "asked_by__pinned", "job")
    )
    if visit_key:
        visits = [visit for visit in visits if str(visit.pk) == visit_key]
    waiting = [visit for visit in visits if visit.state == GateVisit.State.OPEN]
    if len(waiting) > 1:
        ids = ", ".join(str(visit.pk) for visit in waiting)
        raise Conflict(f"Several branches wait at this gate. Name one as “visit”: {ids}.")
    if not visits:
        raise NotFound("The task has not been at this gate.")
    return (waiting or visits)[0]


def _review_as_api_row(visit: GateVisit, reader: User) -> ReviewOut:
    review_detail = build_review_detail(visit, reader)
    changes = ReviewChanges(visit, reader, may_write=False)
    evidence = ReviewEvidence(review_detail, changes, QueryDict())
    files = changes.start_files if changes.has_files else ()
    current_claim = claims.claim_in_force_or_none(visit) if review_detail.live else None
    facts = latest_fact_rows(review_detail.line, [step.job for step in review_detail.steps])
    return ReviewOut(
        gate=visit.gate,
        name=review_detail.gate.name or visit.gate,
        task=visit.task.name,
        title=visit.task.title,
        description=visit.task.description,
        line=review_detail.line.name,
        station=review_detail.station,
        round=visit.round,
        opened=visit.opened_at,
        state=visit.state,
        visit=str(visit.pk),
        evidence=visit.evidence_digest,
        asks_for=review_detail.asks_for,
        approvals=review_detail.approval_count,
        may=review_detail.standing.may,
        why=review_detail.standing.why,
        summary=str(review_detail.outcome.get("summary") or ""),
        output=review_detail.outcome.get("output"),
        offers=[
            OfferOut(
                action=option.word,
                label=option.verb,
                then=option.then,
                needs_reason=option.needs_reason,
                routes=[key for key, _label in option.routes],
            )
            for option in review_detail.options
        ],
        fields=[FieldOut.of(field) for field in review_detail.gate.fields],
        files=[
            ChangedFileOut(path=file.path, change=file.change.change, added=file.added, removed=file.removed)
            for file in files[:FILES]
        ],
        more_files=max(0, len(files) - FILES),
        added=sum(file.added or 0 for file in files),
        removed=sum(file.removed or 0 for file in files),
        facts=[CheckedOut(words=fact.words, by=fact.by) for fact in facts],
        ran=[
            CommandRunOut(
                station=run.station,
                command=run.command,
                result=run.job.result,
                exit_code=run.job.exit_code,
                words=run.words,
                seconds=run.seconds,
                stale=run.stale,
            )
            for run in evidence.command_runs
        ],
        claims=[
            ClaimOut(
                text=claim.text,
                verdict=VERDICTS.get(claim.checked.verdict, "unobserved"),
                observed=claim.words,
            )
            for claim in evidence.claims
        ],
        claimed=ReviewClaimOut.from_claim(current_claim) if current_claim else None,
        questions=[
            QuestionOut.from_question(question)
            for question in questions.questions_at_gate_of_all_rounds(visit)
        ],
        page=reverse("gate-visit", args=[visit.pk]),
    )
