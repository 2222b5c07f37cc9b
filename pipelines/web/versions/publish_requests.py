"""Facts of the Publish page about publishing by four eyes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser

from pipelines.lines import four_eyes
from pipelines.models import Line, PublishRequest, User
from pipelines.queries.four_eyes import is_waiting, last_request, repositories_of
from pipelines.routing.document import line as routing


def request_context(
    line: Line, user: User | AnonymousUser, document: routing.ParsedLine | None = None
) -> dict[str, Any]:
    """Return who asks for publishing the draft, why this person does not, and what was sent back last. `document`: the
    draft, where it is one; then also the repositories that ask for it."""
    last = last_request(line)
    request = last if last and is_waiting(last, line) else None
    refused = last if last and last.state == PublishRequest.State.SENT_BACK else None
    repositories = repositories_of(line.project, document) if document else []
    return {
        "publish_request": request,
        "publish_refused": refused,
        "protected_by": repositories,
        "asks_first": bool(repositories and four_eyes.publish_obstacle(line, request, user)),
        "hindrance": four_eyes.publish_obstacle(line, request, user) if request else "",
    }
