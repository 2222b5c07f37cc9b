"""The gate endpoint of ALP (A19), where a person decides with a personal token."""

from __future__ import annotations

import uuid
from functools import partial

from django.http import HttpResponse

from pipelines import engine
from pipelines.api.auth import Request, require_person
from pipelines.api.idempotency import IDEMPOTENCY_KEY, answer_once
from pipelines.api.lookup import CHANGES, TASK, Operations, action_required
from pipelines.api.schemas import GateIn, GateOut, task_out
from pipelines.errors import Conflict, Invalid, NotFound, NotThisVisit
from pipelines.models import GateVisit, Task, User
from pipelines.queries.versions import parsed_version
from pipelines.web.changes.trees import unopened_count
from reviews.decision.remarks import reason_with_remarks

router = Operations("gates", CHANGES)
GATE = TASK + "/gates/{gate}"
ACTIONS = ("approve", "reject", "send_back", "rework", "abort")


@router.post(GATE, response=GateOut, summary="Decide a gate")
@action_required("decide", "This token may not decide gates.")
def decide_gate_visit(
    request: Request,
    task: Task,
    gate: str,
    payload: GateIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Vote on the gate visit that `visit` or `evidence` names; without either, only on the task's first visit
    of this gate. With an `Idempotency-Key` a repeated request gets the first answer and does not vote
    again.

    400: unknown action, a reason is missing, or `visit` is of another task or gate · 401: no valid token ·
    403: a machine, or a person whom this gate does not ask · 404: unknown ids · 409: not waiting there,
    decided already, or another visit is open than the one that the vote names: the problem has the open
    one as `visit` and `evidence`.
    """
    user = require_person(request.auth)
    # A gate that a migration took out of the line is gone there, and its visits are not
    if (
        gate not in parsed_version(task.pinned).gates_by_key
        and not task.gate_visits.filter(gate=gate).exists()
    ):
        raise NotFound(f"The line has no gate “{gate}”.")
    if payload.action not in ACTIONS:
        raise Invalid.at(
            "action",
            f"“{payload.action}” is not an action.",
            f"Use one of {', '.join(ACTIONS)}.",
        )
    if payload.action in ("reject", "send_back") and not payload.reason.strip():
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")
    return answer_once(
        request, idempotency_key, partial(_cast_vote_on_named_visit, task, gate, payload, user)
    )


def _cast_vote_on_named_visit(task: Task, gate: str, payload: GateIn, user: User) -> GateOut:
    visit = open_visit_the_vote_names(task, gate, payload)
    result = engine.vote(
        visit,
        user=user,
        word=payload.action,
        reason=reason_with_remarks(visit, user, payload.reason),
        route=payload.route,
        token_version=visit.token_version,
        evidence_digest=payload.evidence or visit.evidence_digest,
        via="api",
        unopened=unopened_count(visit, user) if payload.action == "approve" else 0,
        fields=payload.fields,
        seat=payload.inPlaceOf,
    )
    task.refresh_from_db()
    return GateOut(
        gate=gate,
        visit=str(visit.pk),
        action=payload.action,
        state=result.state,
        decidedAt=result.at.isoformat(),
        task=task_out(task),
    )


def open_visit_the_vote_names(task: Task, gate: str, payload: GateIn) -> GateVisit:
    """The open gate visit that a vote names. A vote never counts for a visit that its sender may not have seen.

    Raises Invalid (path `visit`), Conflict."""
    visit_id = _parsed_visit_id_or_invalid(payload.visit) if payload.visit is not None else None
    # The digest tells them apart; the evidence itself may be large
    visits = list(task.gate_visits.filter(gate=gate).defer("evidence").order_by("opened_at"))
    if visit_id is not None and all(visit.pk != visit_id for visit in visits):
        raise Invalid.at("visit", "This gate of this task has no such visit.")
    open_visits = [visit for visit in visits if visit.state == GateVisit.State.OPEN]
    if not open_visits:
        raise _conflict_of_gate_not_open(task, gate)
    if visit_id is not None:
        matches = [visit for visit in visits if visit.pk == visit_id]
    elif payload.evidence is not None:
        # Two visits can show the same evidence, when a migration asks a gate again. Then the digest identifies neither.
        matches = [visit for visit in visits if visit.evidence_digest == payload.evidence]
    else:
        matches = visits
    if len(matches) == 1 and matches[0] in open_visits:
        return matches[0]
    raise _conflict_of_unnamed_or_other_visit(open_visits, payload)


def _conflict_of_unnamed_or_other_visit(open_visits: list[GateVisit], payload: GateIn) -> Conflict:
    if len(open_visits) > 1:
        ids = ", ".join(str(visit.pk) for visit in open_visits)
        return Conflict(f"Several branches wait at this gate. Name one as “visit”: {ids}.")
    [visit] = open_visits
    if payload.visit is None and payload.evidence is None:
        detail = "This task was at this gate before. Check what it shows now, then send “visit” with your decision."
    else:
        detail = (
            "What you saw is no longer what is under review. Check what it shows now, then send its “visit”."
        )
    return NotThisVisit(detail, visit=str(visit.pk), evidence=visit.evidence_digest)


def _conflict_of_gate_not_open(task: Task, gate: str) -> Conflict:
    last = (
        task.gate_visits.filter(gate=gate, state=GateVisit.State.DECIDED)
        .select_related("decided_by")
        .order_by("-decided_at")
        .first()
    )
    if last is None:
        return Conflict(f"The task does not wait at this gate; it is {task.get_status_display()}.")
    by = str(last.decided_by) if last.decided_by else ""
    return Conflict(f"Already decided: {last.word_display}.", by=by, at=last.decided_at)


def _parsed_visit_id_or_invalid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Invalid.at("visit", "This is not the id of a gate visit.") from None
