"""Being away over HTTP, for the person whose token it is (law §6, Absence)."""

from __future__ import annotations

from django.db.models import F, QuerySet
from pydantic import AwareDatetime, BaseModel

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import Operations
from pipelines.api.schemas import StrictBody
from pipelines.errors import Forbidden, Invalid, NotFound
from pipelines.models import Absence, ApiToken, Project, User
from pipelines.people import absences
from pipelines.ports import clock

router = Operations("absences")
# The largest id that the column can hold
LARGEST = 2**63 - 1


class AbsenceIn(StrictBody):
    """`stand_in`: a user name. `project`: `owner/key`; null for every one."""

    stand_in: str
    until: AwareDatetime
    project: str | None = None


class AbsenceOut(BaseModel):
    """`project`: `owner/key`; null for every one."""

    id: int
    stand_in: str
    project: str | None
    until: AwareDatetime


@router.get("/absences", response=list[AbsenceOut], summary="When you are away")
def index(request: Request) -> list[AbsenceOut]:
    """Your own that are not over, those for all projects first. Of a token for one project only those there."""
    user = _person_with_scope(request, ApiToken.Scope.READ)
    return [_absence_out(absence) for absence in _own_absences(request, user).filter(until__gt=clock.now())]


@router.post("/absences", response={201: AbsenceOut}, summary="Name a stand-in")
def create(request: Request, payload: AbsenceIn) -> AbsenceOut:
    """Name a stand-in, in place of the previous one for the same project, or for all. 403: a machine, or a
    token for one project that names no project or another."""
    user = _person_with_scope(request, ApiToken.Scope.DECIDE)
    project = _named_or_token_project(request, payload.project)
    # PostgreSQL takes no NUL in a text.
    stand_in = access.people_user_may_name(user).filter(username=payload.stand_in.replace("\0", "")).first()
    if stand_in is None:
        raise Invalid.at("stand_in", "Choose another member who can see the project.")
    made = absences.set_absence(user, stand_in, project, payload.until, now=clock.now())
    return _absence_out(made)


@router.delete("/absences/{absence}", response={204: None}, summary="Be back")
def end(request: Request, absence: int) -> None:
    """404: none of yours."""
    user = _person_with_scope(request, ApiToken.Scope.DECIDE)
    if not 0 < absence <= LARGEST or not _own_absences(request, user).filter(pk=absence).exists():
        raise NotFound
    absences.end_absence(user, absence, now=clock.now())


def _person_with_scope(request: Request, scope: str) -> User:
    """Raises Forbidden for a machine, and for a token without the scope."""
    user = require_person(request.auth)
    if isinstance(request.auth, ApiToken) and scope not in request.auth.scopes:
        raise Forbidden(f"This token lacks the scope {scope}.")
    return user


def _own_absences(request: Request, user: User) -> QuerySet[Absence]:
    rows = Absence.objects.filter(user=user).select_related("stand_in", "project__owner")
    if isinstance(request.auth, ApiToken) and request.auth.project_id is not None:
        rows = rows.filter(project=request.auth.project_id)
    return rows.order_by(F("project").asc(nulls_first=True))


def _named_or_token_project(request: Request, project_path: str | None) -> Project | None:
    """Raises NotFound, Forbidden."""
    if project_path is None:
        if isinstance(request.auth, ApiToken) and request.auth.project_id is not None:
            raise Forbidden("This token is for one project: name it as “project”.")
        return None
    owner, _slash, key = project_path.replace("\0", "").partition("/")
    project = access.visible_project_by_keys(request.auth, owner, key)
    access.require_permission(request.auth, "decide", project)
    return project


def _absence_out(row: Absence) -> AbsenceOut:
    return AbsenceOut(
        id=row.pk,
        stand_in=row.stand_in.username,
        project=f"{row.project.owner.key}/{row.project.key}" if row.project else None,
        until=row.until,
    )
