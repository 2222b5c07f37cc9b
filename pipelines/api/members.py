"""Members of a project over HTTP."""

from __future__ import annotations

from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import PROJECT, Operations
from pipelines.models import Project, Role
from pipelines.models.people import included_roles

router = Operations("projects")


class MemberOut(BaseModel):
    """`watches`: may look at lines, not draw them."""

    id: int
    name: str
    watches: bool


@router.get(
    PROJECT + "/members",
    response=list[MemberOut],
    summary="Members of a project",
)
def index(request: Request, project: Project) -> list[MemberOut]:
    """List the members by the names they sign in with. A socket names somebody by an id; this call tells
    whose it is."""
    rows = project.memberships.select_related("user").order_by("user__username")
    return [
        MemberOut(id=row.user_id, name=str(row.user), watches=Role.DESIGNER not in included_roles(row.roles))
        for row in rows
    ]
