"""Publishing by four eyes (law §14): neither who asks for it nor who wrote any change of the draft publishes it."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from pipelines.errors import Conflict
from pipelines.models import Line, LineVersion, Membership, PublishRequest, Repository, Role, User
from pipelines.models.people import roles_granting
from pipelines.ports import audit, observers
from pipelines.queries.four_eyes import (
    find_open_publish_request,
    four_eyes_repositories,
    were_versions_published_by_two,
)
from pipelines.routing.document import line as routing


class SecondPersonNeeded(Conflict):
    """Another designer has to publish this draft."""


def is_live_version_published_by_one(line: Line, parsed: routing.ParsedLine) -> bool:
    """Tell that what is live delivers to a repository whose lines two people publish, and one did."""
    names = four_eyes_repositories(line.project, parsed)
    repository = Repository.objects.filter(project=line.project_id, name__in=names).first()
    return bool(
        line.live_id and repository and not were_versions_published_by_two(parsed, repository, line.live_id)
    )


def publish_obstacle_or_empty(line: Line, request: PublishRequest | None, user: User | AnonymousUser) -> str:
    """Return why this person cannot publish the draft, or ""."""
    if request is None:
        return "Ask another designer to publish it."
    if request.requested_by_id == user.pk:
        return "You asked for publishing. Another designer, who wrote none of it, publishes it."
    if user.pk in line.draft_writers:
        return "You wrote a part of this draft. Another designer, who wrote none of it, publishes it."
    return ""


def publish_request_to_fulfil_or_none(
    line: Line, parsed: routing.ParsedLine, user: User
) -> PublishRequest | None:
    """Return the open request that this person may publish; None if no second person is needed. Raises

    SecondPersonNeeded."""
    names = four_eyes_repositories(line.project, parsed)
    if not names:
        return None
    request = find_open_publish_request(line)
    if request is None or (why := publish_obstacle_or_empty(line, request, user)):
        protected = f"Lines that reach {', '.join(names)} are published by four eyes."
        raise SecondPersonNeeded(
            f"{protected} {why if request else publish_obstacle_or_empty(line, None, user)}"
        )
    return request


def record_publish_request(line: Line, user: User, name: str, now: datetime) -> PublishRequest:
    """Keep that somebody asks for publishing the draft of a locked line, and tell those who may. Whoever asks for the
    same again changes nothing; of somebody else it takes the place of what was asked before."""
    request = find_open_publish_request(line)
    if request is not None and request.requested_by_id == user.pk:
        return request
    line.publish_requests.filter(state=PublishRequest.State.OPEN).update(
        state=PublishRequest.State.REPLACED, decided_by=user, decided_at=now
    )
    request = PublishRequest.objects.create(
        line=line,
        draft=line.draft_number,
        digest=routing.canonical_digest(line.draft),
        name=name,
        requested_by=user,
        requested_at=now,
    )
    _record_in_audit("publish.asked", request, user, now)
    others = Membership.objects.filter(
        project=line.project, user__is_active=True, roles__overlap=roles_granting(Role.DESIGNER)
    )
    # Whoever asks, or wrote a part of it, cannot publish it.
    barred = {user.pk, *line.draft_writers}
    _notify_people(request, now, set(others.values_list("user_id", flat=True)) - barred)
    return request


def mark_request_published(request: PublishRequest, version: LineVersion, user: User) -> None:
    """Keep that the request was followed by this version."""
    request.state, request.version = PublishRequest.State.PUBLISHED, version
    request.decided_by, request.decided_at = user, version.published_at
    request.save(update_fields=["state", "version", "decided_by", "decided_at"])
    _record_in_audit("publish.confirmed", request, user, version.published_at, version=version.number)


def send_back_request(request: PublishRequest, user: User, reason: str, now: datetime) -> None:
    """Send a request back with a reason."""
    request.state, request.reason = PublishRequest.State.SENT_BACK, reason
    request.decided_by, request.decided_at = user, now
    request.save(update_fields=["state", "reason", "decided_by", "decided_at"])
    _record_in_audit("publish.sent_back", request, user, now, reason=reason)
    # Who takes back what they asked for knows it.
    _notify_people(request, now, {request.requested_by_id} - {user.pk})


def _record_in_audit(kind: str, request: PublishRequest, user: User, now: datetime, **data: object) -> None:
    line = request.line
    name, about = f"{line.name} ({line.key})", f"line:{line.pk}"
    audit.record_administrative_act(
        kind, by=user, at=now, project=line.project, about=about, name=name, draft=request.draft, **data
    )


def _notify_people(request: PublishRequest, now: datetime, people: set[int]) -> None:
    line = request.line
    who = str(request.decided_by or request.requested_by)
    observers.emit_consequences(
        *(
            observers.PublishRequested(
                request.pk, line.key, line.name, who, request.reason, line.project_id, person, now
            )
            for person in sorted(people)
        )
    )


def emit_version_published(version: LineVersion, line: Line, by: User) -> None:
    """Tell observers of a version that was published, by one or by two."""
    at, who = version.published_at, str(by)
    observers.emit_consequences(
        observers.LinePublished(version.pk, version.number, line.key, line.name, who, line.project_id, at)
    )
