"""Lines over HTTP: their documents, drafts and versions. A change of a line goes through `publishing` alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.http import HttpResponse
from ninja import Status

from pipelines import access
from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, LINE, LINES, Operations, action_required, saving_in_turn
from pipelines.api.schemas import (
    LineLimit,
    LineOut,
    PublishIn,
    PublishRequestOut,
    SendBackIn,
    StrictBody,
    VersionOut,
)
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.formats import native
from pipelines.lines import line_operations, publishing, publishing_requests
from pipelines.models import Line, Project, PublishRequest
from pipelines.queries.four_eyes import find_open_publish_request
from pipelines.routing.analysis.lint.checks import silent_jumps
from pipelines.routing.basics.wording import as_sentence
from pipelines.routing.document.networks import published_document

router = Operations("lines", CHANGES)


@router.get(
    "/line-document.schema.json", auth=None, response=dict[str, Any], summary="Schema of a line document"
)
def schema(request: Request) -> dict[str, Any]:
    return native.json_schema()


@router.get(LINES, response=list[LineOut], summary="List lines")
def index(request: Request, project: Project) -> list[LineOut]:
    return [LineOut.of(line) for line in project.lines.select_related("live").order_by("key")]


class LineChange(StrictBody):
    """Change of a line. Omitted fields stay; `limit` null removes it."""

    name: str | None = None
    archived: bool | None = None
    limit: LineLimit | None = None


class DuplicateIn(StrictBody):
    """The project that gets the copy."""

    owner: str
    project: str


@router.patch(LINE, response=LineOut, summary="Rename, limit, archive or restore a line")
@action_required("design")
def archive_or_restore_line(request: Request, line: Line, payload: LineChange) -> LineOut:
    """An archived line takes no tasks; those that run go on."""
    by = require_person(request.auth)
    if payload.name is not None:
        line_operations.rename_line(line, payload.name, by=by)
    if payload.archived is not None:
        line_operations.set_archived(line, payload.archived, by=by)
    # Null takes the limit away, and absent leaves it
    if payload.limit is not None:
        limit = payload.limit
        line_operations.set_limit_of_open_tasks(line, limit.tasks, key=limit.key, over=limit.over, by=by)
    elif "limit" in payload.model_fields_set:
        line_operations.set_limit_of_open_tasks(line, None, by=by)
    return LineOut.of(line)


@router.post(LINE + "/duplicate", response={201: LineOut}, summary="Duplicate a line to a project")
def duplicate(request: Request, line: Line, payload: DuplicateIn) -> LineOut:
    """Its draft and its scenarios, without tasks, versions and secrets. In the project that gets it the role Designer
    is needed."""
    by = require_person(request.auth)
    to = (
        access.visible_projects_with_owner(request.auth)
        .filter(owner__key=payload.owner, key=payload.project)
        .first()
    )
    if to is None or not access.is_permitted(request.auth, "design", to):
        raise Invalid.at("project", "is not a project in which you have the role Designer")
    return LineOut.of(line_operations.duplicate_line(line, to, by=by))


@router.get(LINE + "/document", response={200: None}, summary="The live document, as YAML")
def download_line_document(request: Request, line: Line, version: int | None = None) -> HttpResponse:
    """The document of the live version, or of the one with this number."""
    line_version = line.live if version is None else access.version_of_permitted_line(line, version)
    if line_version is None:
        raise NotFound("This line has no such version.")
    return HttpResponse(
        native.dumps(published_document(line_version.document, line_version.revision)),
        content_type="application/yaml; charset=utf-8",
    )


@router.post(
    LINE + "/publish",
    response={201: VersionOut, 202: PublishRequestOut},
    summary="Publish the draft, or ask for it",
)
@action_required("publish")
@saving_in_turn
def publish(request: Request, line: Line, payload: PublishIn) -> Status[Any]:
    """Publish the draft. If the protection of a repository asks for four eyes, and nobody else requested
    this, or you wrote a part of the draft: 202, and another designer publishes it by the same call."""
    who = request.auth
    _require_acknowledgement(line, payload.acknowledge)
    made = publishing_requests.publish_or_ask(
        line, user=require_person(who), name=payload.name, based_on=payload.draft
    )
    if isinstance(made, PublishRequest):
        return Status(202, PublishRequestOut.of(made))
    return Status(201, VersionOut.of(made))


@router.get(
    LINE + "/publish",
    response=PublishRequestOut | None,
    summary="What waits for another designer",
)
def show_pending_publish_request(request: Request, line: Line) -> PublishRequestOut | None:
    """null where nobody asks for publishing the draft as it is."""
    waits = find_open_publish_request(line)
    return PublishRequestOut.of(waits) if waits else None


@router.post(
    LINE + "/publish/send-back",
    response=PublishRequestOut,
    summary="Send back what somebody asks to publish",
)
@action_required("publish")
def send_publish_request_back(request: Request, line: Line, payload: SendBackIn) -> PublishRequestOut:
    """Send a request to publish back with a reason; its requester takes it back the same way."""
    by = require_person(request.auth)
    return PublishRequestOut.of(
        publishing_requests.send_back_or_withdraw_request(
            line, user=by, reason=payload.reason, based_on=payload.draft
        )
    )


def _require_acknowledgement(line: Line, acknowledged: Collection[str]) -> None:
    """Raises Conflict where tasks jumped that could not do so any more, and nobody said that this was seen."""
    if silent_jumps.ID in acknowledged:
        return
    for finding in publishing.check_draft(line).findings:
        if finding.check == silent_jumps.ID:
            remedy = 'Name the places under “jumps”, or publish with "acknowledge": ["%(check)s"].'
            raise Conflict(f"{as_sentence(finding.message)} {remedy % {'check': silent_jumps.ID}}")


@router.get(LINE + "/versions", response=list[VersionOut], summary="Published versions")
def versions(request: Request, line: Line) -> list[VersionOut]:
    return [VersionOut.of(v) for v in line.versions.select_related("published_by").order_by("-number")]
