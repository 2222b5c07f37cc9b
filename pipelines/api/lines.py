"""Lines over HTTP: their documents, drafts and versions. A change of a line goes through `publishing` alone."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from pipelines import access
from pipelines.api.auth import person_of
from pipelines.api.problems import ProblemOut
from pipelines.api.schemas import LineOut, PublishIn, VersionOut
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.formats import native
from pipelines.lines import publishing
from pipelines.models import Line
from pipelines.routing.document.networks import as_published
from pipelines.web.shell.turns import turn

router = Router(tags=["lines"])
LINES = "/owners/{owner}/projects/{project}/lines"
ERRORS = dict.fromkeys((400, 401, 403, 404, 409), ProblemOut)


def out(line: Line) -> LineOut:
    live = line.live
    return LineOut(key=line.key, name=line.name, live=live.number if live else None, draft=line.draft_number)


@router.get(
    "/line-document.schema.json", auth=None, response=dict[str, Any], summary="Schema of a line document"
)
def schema(request: HttpRequest) -> dict[str, Any]:
    return native.json_schema()


@router.get(LINES, response={200: list[LineOut], **ERRORS}, summary="List lines")
def index(request: HttpRequest, owner: str, project: str) -> list[LineOut]:
    found = access.get_project(request.auth, owner, project)  # type: ignore[attr-defined]
    access.require(request.auth, "view", found)  # type: ignore[attr-defined]
    return [out(line) for line in found.lines.select_related("live").order_by("key")]


@router.get(LINES + "/{line}/document", response={200: None, **ERRORS}, summary="The live document, as YAML")
def document(
    request: HttpRequest, owner: str, project: str, line: str, version: int | None = None
) -> HttpResponse:
    """The document of the live version, or of the one with this number."""
    found = access.get_line(request.auth, owner, project, line)  # type: ignore[attr-defined]
    access.require(request.auth, "view", found.project)  # type: ignore[attr-defined]
    wanted = found.live if version is None else found.versions.filter(number=min(version, 2**31 - 1)).first()
    if wanted is None:
        raise NotFound("This line has no such version.")
    return HttpResponse(
        native.dumps(as_published(wanted.document)), content_type="application/yaml; charset=utf-8"
    )


@router.put(LINES + "/{line}/draft", response={200: LineOut, **ERRORS}, summary="Save a draft")
def draft(request: HttpRequest, owner: str, project: str, line: str, based_on: int | None = None) -> LineOut:
    """The body is the document, YAML or JSON. A line that does not exist yet is made. `based_on`: the number of the
    draft that was changed; an older one than the stored is refused (409)."""
    who = request.auth  # type: ignore[attr-defined]
    found = access.get_project(who, owner, project)
    access.require(who, "design", found)
    user = person_of(who)
    text = _text(request)
    with turn(who):
        existing = found.lines.filter(key=line).first()
        if existing is None:
            return out(publishing.create_line(found, line, _name(text) or line, text, user))
        if based_on is None:
            raise Conflict(f"Say which draft this was based on: ?based_on={existing.draft_number}.")
        return out(publishing.save_draft(existing, text, user, based_on))


@router.post(LINES + "/{line}/publish", response={201: VersionOut, **ERRORS}, summary="Publish the draft")
def publish(
    request: HttpRequest, owner: str, project: str, line: str, payload: PublishIn
) -> Status[VersionOut]:
    who = request.auth  # type: ignore[attr-defined]
    found = access.get_line(who, owner, project, line)
    access.require(who, "publish", found.project)
    with turn(who):
        made = publishing.publish(found, user=person_of(who), name=payload.name, based_on=payload.draft)
    return Status(201, VersionOut.of(made))


@router.get(
    LINES + "/{line}/versions", response={200: list[VersionOut], **ERRORS}, summary="Published versions"
)
def versions(request: HttpRequest, owner: str, project: str, line: str) -> list[VersionOut]:
    found = access.get_line(request.auth, owner, project, line)  # type: ignore[attr-defined]
    access.require(request.auth, "view", found.project)  # type: ignore[attr-defined]
    return [VersionOut.of(v) for v in found.versions.select_related("published_by").order_by("-number")]


def _name(text: str) -> str:
    name = native.loads(text).get("name")
    return name if isinstance(name, str) else ""


def _text(request: HttpRequest) -> str:
    try:
        return request.body.decode()
    except UnicodeDecodeError as fault:
        raise Invalid.at("", f"is not UTF-8 text from byte {fault.start} on") from fault
