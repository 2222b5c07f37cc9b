"""Calls of tools for which agents at work ask permission: what a task's agents asked, and the answer of a person."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Path
from pydantic import AwareDatetime, BaseModel, Field

from pipelines import engine
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, TASK, Operations, action_required
from pipelines.api.schemas import StrictBody
from pipelines.errors import first_row_or_raise_not_found
from pipelines.models import Task, ToolPermission

router = Operations("permissions", CHANGES)
MOST = 200
Id = Annotated[int, Path(ge=1, lt=2**63)]


class PermissionOut(BaseModel):
    """`state`: open, allowed, denied, or over (nobody answered while the agent waited). `arguments`: without secrets;
    `digest`: of the tool with its exact arguments. `by`: who answered, null where time did."""

    id: int
    station: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    state: str
    requested: AwareDatetime
    due: AwareDatetime
    answered: AwareDatetime | None
    by: str | None
    reason: str


class PermissionAnswerIn(StrictBody):
    """`digest`: of the call as it was seen. A denial needs a `reason`, which the agent is told."""

    digest: Annotated[str, Field(max_length=64)]
    allow: bool
    reason: str = ""


@router.get(TASK + "/permissions", response=list[PermissionOut], summary="Calls that agents asked about")
def list_permission_requests(request: Request, task: Task) -> list[PermissionOut]:
    """List what agents of this task asked to call, the latest 200, newest first."""
    rows = (
        ToolPermission.objects.filter(task=task).select_related("job", "answered_by").order_by("-pk")[:MOST]
    )
    waiting = set(ToolPermission.waiting.filter(task=task).values_list("pk", flat=True))
    return [_permission_out(row, is_awaited=row.pk in waiting) for row in rows]


@router.post(
    TASK + "/permissions/{permission}/answer",
    response=PermissionOut,
    summary="Allow or deny a call of an agent",
)
@action_required("operate")
def answer_permission(
    request: Request, task: Task, permission: Id, payload: PermissionAnswerIn
) -> PermissionOut:
    """The word of a person, for this one call. 409: somebody was faster, the agent waits no longer, or it is another
    call."""
    user = require_person(request.auth)
    row = first_row_or_raise_not_found(ToolPermission.objects.filter(pk=permission, task=task))
    row = engine.answer_tool_permission(
        row.pk, user=user, digest=payload.digest, allow=payload.allow, reason=payload.reason
    )
    return _permission_out(row, is_awaited=False)


def _permission_out(row: ToolPermission, *, is_awaited: bool) -> PermissionOut:
    over = row.state == ToolPermission.State.OPEN and not is_awaited
    return PermissionOut(
        id=row.pk,
        station=row.job.station,
        tool=row.tool,
        arguments=row.arguments,
        digest=row.digest,
        state="over" if over else row.state,
        requested=row.requested_at,
        due=row.due_at,
        answered=row.answered_at,
        by=str(row.answered_by) if row.answered_by else None,
        reason=row.reason,
    )
