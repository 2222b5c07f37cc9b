"""The repositories of a project over HTTP. A credential is the name of a stored secret, never the secret."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import COSTS, PROJECT, Operations, action_required, costly_operation
from pipelines.api.schemas import StrictBody
from pipelines.errors import NotFound, first_row_or_raise_not_found
from pipelines.models import HostNotice, Project, Repository, User
from pipelines.people import code_host_notices, protections, repositories
from pipelines.people.repositories import RepositorySettings
from pipelines.queries.allowed_folders import displayed_address
from pipelines.queries.protections import protections_by_repository, repository_protection
from pipelines.routing.guarantees.protection import Protection
from pipelines.work.git.probe import ConnectionCheck

router = Operations("repositories", COSTS)
MOST_NOTICES = 100
Pushing = Literal["execute", "admin", "nobody"]


class RepositoryIn(StrictBody):
    """`credential`: the name of a stored secret. `pushing`: who may publish lines that push here. `host`: github,
    gitlab, gitea or none, "" as the address says; `page`: its page there; `host_credential`: the name of a stored
    secret; `host_app`: the client id of a GitHub App; `hook_secret`: the name of the secret that signs what the
    host sends."""

    address: str
    default_branch: str = ""
    credential: str = ""
    pushing: Pushing = "execute"
    host: str = ""
    page: str = ""
    host_credential: str = ""
    host_app: str = ""
    hook_secret: str = ""


class ProtectionIn(StrictBody):
    """`approvals`: how many people have to approve before anything is merged or pushed; `groups`: keys of those of
    which somebody has to; `gates`: keys of those at which somebody has to. Whoever requested or produced the change
    never counts. `four_eyes`: two people publish a line that delivers there. `changed_by`: admin of the project, or of
    all projects of the owner, where it holds in each; "" as it is."""

    approvals: int = 0
    groups: list[str] = []
    gates: list[str] = []
    four_eyes: bool = False
    changed_by: Literal["admin", "owner", ""] = ""

    @property
    def as_protection(self) -> Protection:
        groups, gates = tuple(self.groups), tuple(self.gates)
        return Protection(self.approvals, groups, gates, self.changed_by, self.four_eyes)


class RepositoryPut(RepositoryIn):
    """`allow`: an administrator of the installation allows this folder of the server for the owner. `protection`: left
    out it stays as it is; without approvals, groups, gates and four_eyes it ends."""

    allow: bool = False
    protection: ProtectionIn | None = None


class RepositoryOut(BaseModel):
    """`address`: of a folder of the server its name, unless an administrator of the installation asks. `protection`:
    null where nothing is asked for."""

    name: str
    address: str
    default_branch: str
    credential: str
    pushing: str
    host: str
    page: str
    host_credential: str
    host_app: str
    hook_secret: str
    tested: list[ConnectionCheck] | None
    tested_at: datetime | None
    used_in: list[str]
    protection: Protection | None


class NoticeOut(BaseModel):
    """`about`: started, ended, status, withdraw or gate:<visit>. `state`: failed, or queued while it is still tried.
    `error`: why it was not sent, or the last attempt in vain."""

    id: int
    task: str
    about: str
    state: str
    error: str
    queued_at: datetime


@router.get(PROJECT + "/repositories", response=list[RepositoryOut], summary="Repositories")
@action_required("design")
def index(request: Request, project: Project) -> list[RepositoryOut]:
    """List them by name. `used_in`: keys of the lines that work in it."""
    lines, protected = repositories.lines_by_repository(project), protections_by_repository(project)
    rows = Repository.objects.filter(project=project).order_by("name")
    person = request.auth if isinstance(request.auth, User) else request.auth.user
    return [
        _repository_out(row, [line.key for line in lines.get(row.name, [])], person, protected.get(row.name))
        for row in rows
    ]


@router.put(
    PROJECT + "/repositories/{name}",
    response=RepositoryOut,
    summary="Connect a repository, or change one",
)
@action_required("repositories")
def put(request: Request, project: Project, name: str, payload: RepositoryPut) -> RepositoryOut:
    """Nothing is tested. A folder of the server has to be allowed for the owner."""
    fields = RepositorySettings(name=name, **payload.model_dump(exclude={"allow", "protection"}))
    by, allow, now = require_person(request.auth), payload.allow, timezone.now()
    known = Repository.objects.select_related("project__owner").filter(project=project, name=name).first()
    # Together: no repository is connected without the protection that was asked for.
    with transaction.atomic():
        if known is None:
            known = repositories.connect_repository(project, fields, by=by, now=now, allow=allow)
        else:
            repositories.change_repository(known, fields, by=by, now=now, allow=allow)
        if payload.protection is not None:
            of_owner = access.can_in_every_project_of_owner(request.auth, "repositories", project.owner)
            protections.set_protection(
                known, payload.protection.as_protection, by=by, of_owner=of_owner, now=now
            )
    lines = repositories.lines_by_repository(project).get(name, [])
    return _repository_out(known, [line.key for line in lines], by, repository_protection(known))


@router.put("/owners/{owner}/protection", response=Protection, summary="Protect all repositories")
def protect_all_repositories_of_owner(request: Request, owner: str, payload: ProtectionIn) -> Protection:
    """Protect every repository of every project of the owner. The caller has the role Admin
    in all of them."""
    project = first_row_or_raise_not_found(
        access.visible_projects_with_owner(request.auth).filter(owner__key=owner)
    )
    of_owner = access.can_in_every_project_of_owner(request.auth, "repositories", project.owner)
    by, now = require_person(request.auth), timezone.now()
    protections.set_protection_for_all(
        project.owner, payload.as_protection, by=by, of_owner=of_owner, now=now
    )
    return protections.protection_of_all_repositories(project.owner)


@router.delete(PROJECT + "/repositories/{name}", response={204: None}, summary="Disconnect a repository")
@action_required("repositories")
def delete(request: Request, project: Project, name: str) -> None:
    repositories.disconnect_repository(
        _get_repository(project, name), by=require_person(request.auth), now=timezone.now()
    )


@router.post(
    PROJECT + "/repositories/{name}/test",
    response=list[ConnectionCheck],
    summary="Test the connection to a repository",
)
@action_required("repositories")
@costly_operation
def test(request: Request, project: Project, name: str) -> list[ConnectionCheck]:
    """Test the repository and list the results, one by one; it takes as long as the server does."""
    known = _get_repository(project, name)
    by = require_person(request.auth)
    return [
        ConnectionCheck(**check) for check in repositories.test_connection(known, by=by, now=timezone.now())
    ]


@router.get(
    PROJECT + "/repositories/{name}/notices",
    response=list[NoticeOut],
    summary="What the host was not told",
)
@action_required("repositories")
def notices(request: Request, project: Project, name: str) -> list[NoticeOut]:
    """The newest first, at most 100: drop some to see older ones."""
    rows = code_host_notices.unsent_notices(_get_repository(project, name))[:MOST_NOTICES]
    return [
        NoticeOut(
            id=row.pk,
            task=row.link.task.name,
            about=row.about,
            state=row.state,
            error=row.error,
            queued_at=row.queued_at,
        )
        for row in rows
    ]


@router.post(
    PROJECT + "/repositories/{name}/notices/{notice}/send",
    response={204: None},
    summary="Send a failed notice to the host again",
)
@action_required("repositories")
def send_notice(request: Request, project: Project, name: str, notice: int) -> None:
    row = _get_notice(_get_repository(project, name), notice)
    code_host_notices.requeue_failed_notice(row, by=require_person(request.auth), now=timezone.now())


@router.post(
    PROJECT + "/repositories/{name}/notices/{notice}/drop",
    response={204: None},
    summary="Drop a notice that the host was not told",
)
@action_required("repositories")
def drop_notice(request: Request, project: Project, name: str, notice: int) -> None:
    row = _get_notice(_get_repository(project, name), notice)
    code_host_notices.cancel_unsent_notice(row, by=require_person(request.auth), now=timezone.now())


def _get_notice(repository: Repository, notice: int) -> HostNotice:
    rows = HostNotice.objects.select_related("link__task__project")
    # Beyond a bigint PostgreSQL would refuse the number.
    row = rows.filter(link__repository=repository, pk=notice).first() if notice < 2**63 else None
    if row is None:
        raise NotFound
    return row


def _get_repository(project: Project, name: str) -> Repository:
    return first_row_or_raise_not_found(
        Repository.objects.select_related("project__owner").filter(project=project, name=name)
    )


def _repository_out(
    repository: Repository, used_in: list[str], person: User | None, protection: Protection | None
) -> RepositoryOut:
    tested = (
        None if repository.tested is None else [ConnectionCheck(**result) for result in repository.tested]
    )
    return RepositoryOut(
        name=repository.name,
        address=displayed_address(repository, person),
        default_branch=repository.default_branch,
        credential=repository.credential,
        pushing=repository.pushing,
        host=repository.host,
        page=repository.page,
        host_credential=repository.host_credential,
        host_app=repository.host_app,
        hook_secret=repository.hook_secret,
        tested=tested,
        tested_at=repository.tested_at,
        used_in=used_in,
        # One that asks for nothing is false, and none
        protection=protection or None,
    )
