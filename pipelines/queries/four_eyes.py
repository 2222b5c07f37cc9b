"""Lines that a protection has published by two people (law §14)."""

from __future__ import annotations

from pipelines.models import Line, Project, PublishRequest, Repository
from pipelines.queries.protections import protections_by_repository
from pipelines.routing.document.line import ParsedLine, canonical_digest
from pipelines.routing.guarantees.protection import line_delivers


def four_eyes_repositories(project: Project, document: ParsedLine) -> list[str]:
    """Name the repositories that a line delivers to, or may, and whose lines two people publish."""
    workspace = document.workspace
    if workspace is None or not line_delivers(document):
        return []
    names = [name for name, protection in protections_by_repository(project).items() if protection.four_eyes]
    return [name for name in names if workspace.input_key or name == workspace.repository]


def were_versions_published_by_two(document: ParsedLine, repository: Repository, *versions: int) -> bool:
    """Tell that two people published each of these versions, given by their ids, since the name in the line leads to
    this repository."""
    requests = PublishRequest.objects.filter(version__in=versions)
    if document.workspace and not document.workspace.input_key:
        requests = requests.filter(decided_at__gte=repository.connected_at)
    # A version has one request at most, so that their number tells.
    return requests.count() == len(set(versions))


def last_publish_request_or_none(line: Line) -> PublishRequest | None:
    return line.publish_requests.select_related("requested_by", "decided_by").order_by("-pk").first()


def find_open_publish_request(line: Line) -> PublishRequest | None:
    """Return what waits for another designer, None where nothing does or the draft changed since."""
    request = last_publish_request_or_none(line)
    return request if request is not None and is_publish_request_waiting(request, line) else None


def is_publish_request_waiting(request: PublishRequest, line: Line) -> bool:
    """Tell that it is open, and about the draft as it is."""
    is_open = request.state == PublishRequest.State.OPEN and request.draft == line.draft_number
    return is_open and request.digest == canonical_digest(line.draft)
