"""Publish a draft, or ask another designer to, where a protection says so (law §14)."""

from __future__ import annotations

from django.db import transaction

from pipelines import access
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Invalid
from pipelines.lines import four_eyes, publishing
from pipelines.models import Line, LineVersion, PublishRequest, User
from pipelines.ports import clock
from pipelines.queries.four_eyes import find_open_publish_request

REASON = 2_000


def publish_or_ask(line: Line, *, user: User, name: str = "", based_on: int) -> LineVersion | PublishRequest:
    """Raises what `publishing.publish_draft` does: nobody asks for what could not be published."""
    try:
        return publishing.publish_draft(line, user=user, name=name, based_on=based_on)
    except four_eyes.SecondPersonNeeded:
        return request_publishing(line, user=user, name=name, based_on=based_on)


@transaction.atomic
def request_publishing(line: Line, *, user: User, name: str, based_on: int) -> PublishRequest:
    """Ask for publishing what `publishing.publish_draft` has just looked at. Raises DraftConflict."""
    stored = publishing.lock_line(line, based_on)
    return four_eyes.record_publish_request(stored, user, name, clock.now())


@transaction.atomic
def send_back_or_withdraw_request(line: Line, *, user: User, reason: str, based_on: int) -> PublishRequest:
    """Send a request to publish back, or withdraw one's own. Raises Forbidden, Invalid, DraftConflict,
    Conflict."""
    access.require_permission(user, "publish", line.project)
    words = payload.checked_text(reason, "reason", REASON).strip()
    if not words:
        raise Invalid.at("reason", "is missing or blank", "Say what has to change.")
    stored = publishing.lock_line(line, based_on)
    request = find_open_publish_request(stored)
    if request is None:
        raise Conflict("Nobody asks for publishing this draft any more. Reload the page.")
    request.line = stored
    four_eyes.send_back_request(request, user, words, clock.now())
    return request
