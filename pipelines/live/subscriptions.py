"""The subscription of a socket to the hints of a project: signed in, a member of it, and still so later on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.utils.crypto import constant_time_compare

from pipelines import access
from pipelines.errors import NotFound
from pipelines.models import User


@dataclass(frozen=True, slots=True)
class Subscription:
    """One socket's right to hints of one project."""

    user_id: int
    project_id: int
    session_key: str
    session_hash: str
    line_id: int | None = None
    task: str | None = None
    draws: bool = False  # has the canvas of the line open


def parse(query: bytes) -> dict[str, str] | None:
    """`project=owner/key[&line=…][&task=WI-…][&draw=1]`; None when it cannot name anything."""
    try:
        values = parse_qs(query.decode("ascii"), max_num_fields=5, errors="strict")
    except ValueError:
        return None
    words = {key: found[-1] for key, found in values.items() if key in {"project", "line", "task", "draw"}}
    if words.get("project", "").count("/") != 1 or any("\0" in word for word in words.values()):
        return None
    return words


def subscription_for(user: Any, session: Any, query: bytes) -> Subscription | None:
    """None for whoever is signed out, not a member, or asks for what is not there."""
    words = parse(query)
    if words is None or not user.is_authenticated:
        return None
    owner, key = words["project"].split("/")
    try:
        project = access.get_project(user, owner, key)
        line = access.get_line(user, owner, key, words["line"]) if "line" in words else None
        task = access.find_task(user, owner, key, words["task"]) if "task" in words else None
    except NotFound:
        return None
    return Subscription(
        user.pk,
        project.pk,
        session.session_key or "",
        session.get(HASH_SESSION_KEY, ""),
        line.pk if line else None,
        task.name if task else None,
        line is not None and "draw" in words,
    )


def entitled(subscriptions: Collection[Subscription]) -> set[Subscription]:
    """Those that still hold, in three queries however many there are."""
    people = User.objects.filter(
        id__in={subscription.user_id for subscription in subscriptions}, is_active=True
    )
    hashes = {user.pk: user.get_session_auth_hash() for user in people}
    members = access.members(
        {subscription.user_id for subscription in subscriptions},
        {subscription.project_id for subscription in subscriptions},
    )
    sessions = set(
        Session.objects.filter(
            session_key__in={subscription.session_key for subscription in subscriptions},
            expire_date__gt=Now(),
        ).values_list("session_key", flat=True)
    )
    return {
        subscription
        for subscription in subscriptions
        if (subscription.user_id, subscription.project_id) in members
        and subscription.session_key in sessions
        and constant_time_compare(hashes.get(subscription.user_id, ""), subscription.session_hash)
    }
