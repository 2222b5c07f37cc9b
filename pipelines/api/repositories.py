"""The repositories of a project over HTTP. A credential is the name of a stored secret, never the secret."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.utils import timezone
from ninja import Router, Status
from pydantic import BaseModel

from pipelines.api.auth import Request, person_of
from pipelines.api.lookup import PROJECT, project_of
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import Strict
from pipelines.errors import NotFound
from pipelines.models import HostNotice, Project, Repository, User
from pipelines.people import host_notices, repositories
from pipelines.people.repositories import RepositorySettings
from pipelines.queries.allowed_folders import shown
from pipelines.web.shell.turns import turn

router = Router(tags=["repositories"])
ERRORS = dict.fromkeys((400, 401, 403, 404, 409, 429), ProblemOut)
MOST_NOTICES = 100
Pushing = Literal["execute", "admin", "nobody"]


class RepositoryIn(Strict):
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


class RepositoryPut(RepositoryIn):
    """`allow`: an administrator of the installation allows this folder of the server for the owner."""

    allow: bool = False


class FoundOut(BaseModel):
    """`ok` is null where something before it failed; `said` is the fact, or why not."""

    check: str
    ok: bool | None
    said: str
    commit: str
    seconds: float


class RepositoryOut(BaseModel):
    """`address`: of a folder of the server its name, unless an administrator of the installation asks."""

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
    tested: list[FoundOut] | None
    tested_at: datetime | None
    used_in: list[str]


class NoticeOut(BaseModel):
    """`about`: started, ended, status, withdraw or gate:<visit>. `state`: failed, or queued while it is still tried.
    `error`: why it was not sent, or the last attempt in vain."""

    id: int
    task: str
    about: str
    state: str
    error: str
    queued_at: datetime


@router.get(PROJECT + "/repositories", response={200: list[RepositoryOut], **ERRORS}, summary="Repositories")
def index(request: Request, owner: str, project: str) -> list[RepositoryOut]:
    """By name. `used_in`: keys of the lines that work in it."""
    found = project_of(request, owner, project, "design")
    lines = repositories.lines_of(found)
    rows = Repository.objects.filter(project=found).order_by("name")
    person = request.auth if isinstance(request.auth, User) else request.auth.user
    return [_out(each, [line.key for line in lines.get(each.name, [])], person) for each in rows]


@router.put(
    PROJECT + "/repositories/{name}",
    response={200: RepositoryOut, **ERRORS},
    summary="Connect a repository, or change one",
)
def put(request: Request, owner: str, project: str, name: str, payload: RepositoryPut) -> RepositoryOut:
    """Nothing is tested. A folder of the server has to be allowed for the owner."""
    found = project_of(request, owner, project, "repositories")
    said = RepositorySettings(name=name, **payload.model_dump(exclude={"allow"}))
    by, allow = person_of(request.auth), payload.allow
    known = Repository.objects.select_related("project").filter(project=found, name=name).first()
    if known is None:
        made = repositories.connect(found, said, by=by, now=timezone.now(), allow=allow)
        return _out(made, [], by)
    repositories.change(known, said, by=by, now=timezone.now(), allow=allow)
    return _out(known, [line.key for line in repositories.lines_of(found).get(name, [])], by)


@router.delete(
    PROJECT + "/repositories/{name}", response={204: None, **ERRORS}, summary="Disconnect a repository"
)
def delete(request: Request, owner: str, project: str, name: str) -> Status[None]:
    found = project_of(request, owner, project, "repositories")
    repositories.disconnect(_known(found, name), by=person_of(request.auth), now=timezone.now())
    return Status(204, None)


@router.post(
    PROJECT + "/repositories/{name}/test",
    response={200: list[FoundOut], **ERRORS},
    summary="Test the connection to a repository",
)
def test(request: Request, owner: str, project: str, name: str) -> list[FoundOut]:
    """What was found, one by one; it takes as long as the server does."""
    found = project_of(request, owner, project, "repositories")
    known = _known(found, name)
    with turn(request.auth):
        by = person_of(request.auth)
        return [FoundOut(**each) for each in repositories.test(known, by=by, now=timezone.now())]


@router.get(
    PROJECT + "/repositories/{name}/notices",
    response={200: list[NoticeOut], **ERRORS},
    summary="What the host was not told",
)
def notices(request: Request, owner: str, project: str, name: str) -> list[NoticeOut]:
    """The newest first, at most 100: drop some to see older ones."""
    found = project_of(request, owner, project, "repositories")
    rows = host_notices.unsent(_known(found, name))[:MOST_NOTICES]
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
    response={204: None, **ERRORS},
    summary="Send a failed notice to the host again",
)
def send_notice(request: Request, owner: str, project: str, name: str, notice: int) -> Status[None]:
    found = project_of(request, owner, project, "repositories")
    row = _notice(_known(found, name), notice)
    host_notices.send_again(row, by=person_of(request.auth), now=timezone.now())
    return Status(204, None)


@router.post(
    PROJECT + "/repositories/{name}/notices/{notice}/drop",
    response={204: None, **ERRORS},
    summary="Drop a notice that the host was not told",
)
def drop_notice(request: Request, owner: str, project: str, name: str, notice: int) -> Status[None]:
    found = project_of(request, owner, project, "repositories")
    row = _notice(_known(found, name), notice)
    host_notices.drop(row, by=person_of(request.auth), now=timezone.now())
    return Status(204, None)


def _notice(repository: Repository, notice: int) -> HostNotice:
    rows = HostNotice.objects.select_related("link__task__project")
    row = rows.filter(link__repository=repository, pk=notice).first() if notice < 2**63 else None
    if row is None:
        raise NotFound
    return row


def _known(project: Project, name: str) -> Repository:
    found = Repository.objects.select_related("project__owner").filter(project=project, name=name).first()
    if found is None:
        raise NotFound
    return found


def _out(each: Repository, used_in: list[str], person: User | None) -> RepositoryOut:
    tested = None if each.tested is None else [FoundOut(**said) for said in each.tested]
    return RepositoryOut(
        name=each.name,
        address=shown(each, person),
        default_branch=each.default_branch,
        credential=each.credential,
        pushing=each.pushing,
        host=each.host,
        page=each.page,
        host_credential=each.host_credential,
        host_app=each.host_app,
        hook_secret=each.hook_secret,
        tested=tested,
        tested_at=each.tested_at,
        used_in=used_in,
    )
