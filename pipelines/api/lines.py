"""Lines over HTTP: their documents, drafts and versions. A change of a line goes through `publishing` alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _
from ninja import Router, Status

from pipelines import access
from pipelines.api.auth import Request, person_of
from pipelines.api.lookup import LINE, LINES, line_of, project_of
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import LineOut, PublishIn, PublishRequestOut, SendBackIn, Strict, VersionOut
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.formats import native
from pipelines.lines import asking, publishing, settings
from pipelines.models import Line, PublishRequest
from pipelines.queries.four_eyes import open_request
from pipelines.routing.analysis.lint.checks import silent_jumps
from pipelines.routing.basics.wording import as_sentence
from pipelines.routing.document.networks import as_published
from pipelines.web.shell.turns import turn

router = Router(tags=["lines"])
ERRORS = dict.fromkeys((400, 401, 403, 404, 409), ProblemOut)


@router.get(
    "/line-document.schema.json", auth=None, response=dict[str, Any], summary="Schema of a line document"
)
def schema(request: Request) -> dict[str, Any]:
    return native.json_schema()


@router.get(LINES, response={200: list[LineOut], **ERRORS}, summary="List lines")
def index(request: Request, owner: str, project: str) -> list[LineOut]:
    found = project_of(request, owner, project)
    return [LineOut.of(line) for line in found.lines.select_related("live").order_by("key")]


class LineChange(Strict):
    """What is left out stays."""

    name: str | None = None
    archived: bool | None = None


class DuplicateIn(Strict):
    """The project that gets the copy."""

    owner: str
    project: str


@router.patch(LINE, response={200: LineOut, **ERRORS}, summary="Rename, archive or restore a line")
def change(request: Request, owner: str, project: str, line: str, payload: LineChange) -> LineOut:
    """An archived line takes no tasks; those that run go on."""
    found = line_of(request, owner, project, line, "design")
    by = person_of(request.auth)
    if payload.name is not None:
        settings.rename(found, payload.name, by=by)
    if payload.archived is not None:
        (settings.archive if payload.archived else settings.restore)(found, by=by)
    return LineOut.of(found)


@router.post(LINE + "/duplicate", response={201: LineOut, **ERRORS}, summary="Duplicate a line to a project")
def duplicate(request: Request, owner: str, project: str, line: str, payload: DuplicateIn) -> Status[LineOut]:
    """Its draft and its scenarios, without tasks, versions and secrets. In the project that gets it the role Designer
    is needed."""
    found, by = line_of(request, owner, project, line), person_of(request.auth)
    to = access.visible_projects(request.auth).filter(owner__key=payload.owner, key=payload.project).first()
    if to is None or not access.can(request.auth, "design", to):
        raise Invalid.at("project", _("is not a project in which you have the role Designer"))
    return Status(201, LineOut.of(settings.duplicate(found, to, by=by)))


@router.get(LINE + "/document", response={200: None, **ERRORS}, summary="The live document, as YAML")
def document(
    request: Request, owner: str, project: str, line: str, version: int | None = None
) -> HttpResponse:
    """The document of the live version, or of the one with this number."""
    found = line_of(request, owner, project, line)
    wanted = found.live if version is None else found.versions.filter(number=min(version, 2**31 - 1)).first()
    if wanted is None:
        raise NotFound(_("This line has no such version."))
    return HttpResponse(
        native.dumps(as_published(wanted.document, wanted.revision)),
        content_type="application/yaml; charset=utf-8",
    )


@router.post(
    LINE + "/publish",
    response={201: VersionOut, 202: PublishRequestOut, **ERRORS},
    summary="Publish the draft, or ask for it",
)
def publish(request: Request, owner: str, project: str, line: str, payload: PublishIn) -> Status[Any]:
    """Where the protection of a repository asks for four eyes, and nobody else asked, or you wrote a part of the draft:
    202, and another designer publishes it by the same call."""
    who = request.auth
    found = line_of(request, owner, project, line, "publish")
    with turn(who, saves=True):
        _acknowledged(found, payload.acknowledge)
        made = asking.publish_or_ask(found, user=person_of(who), name=payload.name, based_on=payload.draft)
    if isinstance(made, PublishRequest):
        return Status(202, PublishRequestOut.of(made))
    return Status(201, VersionOut.of(made))


@router.get(
    LINE + "/publish",
    response={200: PublishRequestOut | None, **ERRORS},
    summary="What waits for another designer",
)
def waiting(request: Request, owner: str, project: str, line: str) -> PublishRequestOut | None:
    """null where nobody asks for publishing the draft as it is."""
    waits = open_request(line_of(request, owner, project, line))
    return PublishRequestOut.of(waits) if waits else None


@router.post(
    LINE + "/publish/send-back",
    response={200: PublishRequestOut, **ERRORS},
    summary="Send back what somebody asks to publish",
)
def send_back(
    request: Request, owner: str, project: str, line: str, payload: SendBackIn
) -> PublishRequestOut:
    """With a reason; whoever asked takes it back so."""
    row, by = line_of(request, owner, project, line, "publish"), person_of(request.auth)
    return PublishRequestOut.of(asking.send_back(row, user=by, reason=payload.reason, based_on=payload.draft))


def _acknowledged(line: Line, given: Collection[str]) -> None:
    """Raises Conflict where tasks jumped that could not do so any more, and nobody said that this was seen."""
    if silent_jumps.ID in given:
        return
    for each in publishing.check(line).findings:
        if each.check == silent_jumps.ID:
            remedy = _('Name the places under “jumps”, or publish with "acknowledge": ["%(check)s"].')
            raise Conflict(f"{as_sentence(each.message)} {remedy % {'check': silent_jumps.ID}}")


@router.get(LINE + "/versions", response={200: list[VersionOut], **ERRORS}, summary="Published versions")
def versions(request: Request, owner: str, project: str, line: str) -> list[VersionOut]:
    found = line_of(request, owner, project, line)
    return [VersionOut.of(v) for v in found.versions.select_related("published_by").order_by("-number")]
