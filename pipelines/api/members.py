"""Who is in a project over HTTP."""

from __future__ import annotations

from ninja import Router
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, project_of
from pipelines.api.problems import ProblemOut
from pipelines.models import Role
from pipelines.models.people import expand

router = Router(tags=["projects"])


class MemberOut(BaseModel):
    """`watches`: may look at lines, not draw them."""

    id: int
    name: str
    watches: bool


@router.get(
    PROJECT + "/members",
    response={200: list[MemberOut], **dict.fromkeys((400, 401, 403, 404), ProblemOut)},
    summary="Members of a project",
)
def index(request: Request, owner: str, project: str) -> list[MemberOut]:
    """By the names they sign in with. What a socket says of somebody is an id; here is whose."""
    found = project_of(request, owner, project)
    rows = found.memberships.select_related("user").order_by("user__username")
    return [
        MemberOut(id=row.user_id, name=str(row.user), watches=Role.DESIGNER not in expand(row.roles))
        for row in rows
    ]
