"""`POST /api/v1/decisions`: several reviews at once from a terminal, by the rules of the page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.idempotency import IDEMPOTENCY_KEY, answer_once
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import StrictBody
from pipelines.errors import Forbidden, Invalid
from pipelines.models import ApiToken, User, Word
from reviews.inbox.item import InboxViewer
from reviews.review import bulk_decisions
from reviews.review.bulk_decisions import BulkRow

router = Router(tags=["gates"])
LONGEST_REASON = 20_000


class DecisionIn(StrictBody):
    """`visit` and `evidence`: as `GET …/gates/{gate}/review` showed them. `inPlaceOf`: the user name of somebody who is
    away; needed where the person could decide on their own and for others."""

    visit: UUID
    evidence: str
    inPlaceOf: str = ""  # noqa: N815


class DecisionsIn(StrictBody):
    """Request with one word for all, approve or reject; `reason` where it needs one. At most 50 items, each
    visit once."""

    action: str
    items: list[DecisionIn]
    reason: str = ""


class BulkDecisionOut(BaseModel):
    """Result of one item. `state`: decided, counted (more votes are needed) or refused; then `why`. `task`:
    its number, null for what the token does not see."""

    visit: str
    task: str | None
    state: str
    why: str


class BulkDecisionsOut(BaseModel):
    """Results, one for each item, in their order."""

    decisions: list[BulkDecisionOut]


@router.post(
    "/decisions",
    response={200: BulkDecisionsOut, **dict.fromkeys((400, 401, 403, 409), ProblemOut)},
    summary="Decide several gates",
)
def decide(
    request: Request, payload: DecisionsIn, idempotency_key: str | None = IDEMPOTENCY_KEY
) -> HttpResponse:
    """A vote of its own on each item, in their order, on exactly the evidence that it names. One that is refused leaves
    the others as they are. All items are of the gate and version of the first that the person may decide. What needs
    more than the word (fields, a route) or is sent back is decided one by one.

    400: another action, a reason is missing, an item twice or too many · 401: no valid token · 403: a machine, or a
    token that may not decide."""
    user, token = require_person(request.auth), request.auth if isinstance(request.auth, ApiToken) else None
    if token and ApiToken.Scope.DECIDE not in token.scopes:
        raise Forbidden("This token may not decide gates.")
    _refuse_bad_action_or_item_count(payload)
    return answer_once(
        request,
        idempotency_key,
        partial(_decide_items_and_report_each, payload, user, InboxViewer(user, token)),
    )


def _refuse_bad_action_or_item_count(payload: DecisionsIn) -> None:
    if payload.action not in bulk_decisions.WORDS:
        raise Invalid.at(
            "action",
            f"“{payload.action}” is not for several at once.",
            f"Use one of {', '.join(bulk_decisions.WORDS)}.",
        )
    if not payload.items or len(payload.items) > bulk_decisions.MOST:
        raise Invalid.at("items", f"Name 1 to {bulk_decisions.MOST} reviews.")
    if len({item.visit for item in payload.items}) < len(payload.items):
        raise Invalid.at("items", "Name each review once.")
    if len(payload.reason) > LONGEST_REASON:
        raise Invalid.at("reason", f"At most {LONGEST_REASON} characters.")
    if payload.action == Word.REJECT and not payload.reason.strip():
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")


def _decide_items_and_report_each(payload: DecisionsIn, user: User, viewer: InboxViewer) -> BulkDecisionsOut:
    rows = {
        row.visit.pk: row
        for row in bulk_decisions.plan_decision_on_each_visible_visit(
            user, [str(item.visit) for item in payload.items], payload.action, viewer
        )
    }
    if not payload.reason.strip() and any(row.option and row.option.needs_reason for row in rows.values()):
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")
    decisions = [_decide_item_and_report(item, rows.get(item.visit), payload, user) for item in payload.items]
    return BulkDecisionsOut(decisions=decisions)


def _decide_item_and_report(
    item: DecisionIn, row: BulkRow | None, payload: DecisionsIn, user: User
) -> BulkDecisionOut:
    if row is None or not access.is_permitted(user, "decide", row.visit.task.project):
        return BulkDecisionOut(
            visit=str(item.visit), task=None, state="refused", why="There is no such review."
        )
    evidence_version = f"{row.visit.token_version}:{item.evidence}"
    done = bulk_decisions.cast_vote_on_evidence_of_row(
        user, replace(row, seat=item.inPlaceOf), payload.action, payload.reason, evidence_version, "api"
    )
    state = "refused" if not done.done else "decided" if done.settled else "counted"
    return BulkDecisionOut(visit=str(item.visit), task=row.visit.task.name, state=state, why=done.why)
