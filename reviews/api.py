"""The gate endpoint of ALP (A19), by which a person decides with a token of their own."""

from __future__ import annotations

import uuid

from django.http import HttpRequest
from ninja import Router

from pipelines import access, engine
from pipelines.api.auth import person_of
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import GateIn, GateOut, task_out
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import ApiToken, GateVisit, Task
from pipelines.versions import parsed

router = Router(tags=["gates"])
GATE = "/owners/{owner}/projects/{project}/stages/{line}/tasks/{task}/gates/{gate}"
ERRORS = dict.fromkeys((400, 401, 403, 404, 409), ProblemOut)
ACTIONS = ("approve", "reject", "send_back", "rework", "abort")


@router.post(GATE, response={200: GateOut, **ERRORS}, summary="Decide a gate")
def decide(
    request: HttpRequest, owner: str, project: str, line: str, task: str, gate: str, payload: GateIn
) -> GateOut:
    """One vote. 400: unknown action, or a reason is missing · 401: no valid token · 403: a machine, or a person whom
    this gate does not ask · 404: unknown ids · 409: not waiting there, decided already, or the evidence is another."""
    token: ApiToken = request.auth  # type: ignore[attr-defined]
    found = access.get_task(token, owner, project, line, task)
    if not access.can(token, "decide", found.project):
        raise Forbidden("This token may not decide gates.")
    user = person_of(token)
    if gate not in parsed(found.pinned).gates_by_key and not found.gate_visits.filter(gate=gate).exists():
        raise NotFound(f"The line has no gate “{gate}”.")
    if payload.action not in ACTIONS:
        raise Invalid.at("action", f"“{payload.action}” is no action.", f"Use one of {', '.join(ACTIONS)}.")
    if payload.action in ("reject", "send_back") and not payload.reason.strip():
        raise Invalid.at("reason", "A reason is needed.", "Say why; it is stored and shown.")
    visit = _open_visit(found, gate, payload)
    result = engine.vote(
        visit.pk,
        user=user,
        word=payload.action,
        reason=payload.reason,
        route=payload.route,
        token_version=visit.token_version,
        evidence_digest=payload.evidence or visit.evidence_digest,
        via="api",
    )
    found.refresh_from_db()
    return GateOut(
        gate=gate,
        visit=str(visit.pk),
        action=payload.action,
        state=result.state,
        decidedAt=result.at.isoformat(),
        task=task_out(found),
    )


def _open_visit(task: Task, gate: str, payload: GateIn) -> GateVisit:
    """What is voted on: the visit that the body names, else the one that is open. Two branches may wait at one gate."""
    visits = list(task.gate_visits.filter(gate=gate, state=GateVisit.State.OPEN).order_by("opened_at"))
    if payload.visit is not None:
        wanted = _uuid(payload.visit)
        visits = [visit for visit in visits if visit.pk == wanted]
    if not visits:
        raise _why_closed(task, gate)
    if len(visits) > 1:
        ids = ", ".join(str(visit.pk) for visit in visits)
        raise Conflict(f"Several branches wait at this gate; name one as “visit”: {ids}.")
    return visits[0]


def _why_closed(task: Task, gate: str) -> Conflict:
    last = (
        task.gate_visits.filter(gate=gate, state=GateVisit.State.DECIDED)
        .select_related("decided_by")
        .order_by("-decided_at")
        .first()
    )
    if last is None:
        return Conflict(f"The task does not wait at this gate; it is {task.status}.")
    by = str(last.decided_by) if last.decided_by else ""
    return Conflict(f"Already decided: {last.word}.", by=by, at=last.decided_at)


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Invalid.at("visit", "This is no id of a gate visit.") from None
