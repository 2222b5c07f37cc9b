"""The subscription of a socket to the hints of a project: signed in, a member of it, and still so later on."""

from __future__ import annotations

from collections import defaultdict
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

EVERY = "*"


@dataclass(frozen=True, slots=True)
class Subscription:
    """Right of one socket to hints of one project, or of all that its person may see (`every`)."""

    user_id: int
    project_ids: frozenset[int]
    session_key: str
    session_hash: str
    line_id: int | None = None
    task: str | None = None
    draws: bool = False  # has the canvas of the line open
    every: bool = False


def parse_query_or_none(query: bytes) -> dict[str, str] | None:
    """`project=owner/key[&line=…][&task=WI-…][&draw=1]`, or `project=*`; None when it cannot name anything."""
    try:
        values = parse_qs(query.decode("ascii"), max_num_fields=5, errors="strict")
    except ValueError:
        return None
    words = {
        key: occurrences[-1]
        for key, occurrences in values.items()
        if key in {"project", "line", "task", "draw"}
    }
    if words == {"project": EVERY}:
        return words
    # PostgreSQL takes no NUL, and would answer with an error.
    if words.get("project", "").count("/") != 1 or any("\0" in word for word in words.values()):
        return None
    return words


def requested_subscription_or_none(user: Any, session: Any, query: bytes) -> Subscription | None:
    """None for whoever is signed out, not a member, lacks a required second factor, or asks for what is not there."""
    words = parse_query_or_none(query)
    if words is None or not user.is_authenticated:
        return None
    if words["project"] == EVERY:
        project_ids = frozenset(
            project for _user, project in access.user_and_project_ids_of_members([user.pk], None)
        )
        # Changes with the password, which so ends the sockets of earlier sessions.
        hashed = session.get(HASH_SESSION_KEY, "")
        return (
            Subscription(user.pk, project_ids, session.session_key or "", hashed, every=True)
            if project_ids
            else None
        )
    owner, key = words["project"].split("/")
    try:
        project = access.visible_project_by_keys(user, owner, key)
        line = (
            access.line_of_visible_project_by_keys(user, owner, key, words["line"])
            if "line" in words
            else None
        )
        task = access.task_by_number_in_project(user, owner, key, words["task"]) if "task" in words else None
    except NotFound:
        return None
    if not access.user_and_project_ids_of_members([user.pk], [project.pk]):
        return None
    return Subscription(
        user.pk,
        frozenset([project.pk]),
        session.session_key or "",
        session.get(HASH_SESSION_KEY, ""),
        line.pk if line else None,
        task.name if task else None,
        line is not None and "draw" in words,
    )


@dataclass(frozen=True, slots=True)
class SubscriptionCheck:
    """`kept` still hold. `renewed` are of people who see other projects than they did: their sockets come back."""

    kept: frozenset[Subscription]
    renewed: frozenset[Subscription]


def subscription_check(subscriptions: Collection[Subscription]) -> SubscriptionCheck:
    """Check the subscriptions in three queries, however many there are."""
    user_ids = {subscription.user_id for subscription in subscriptions}
    people = User.objects.filter(id__in=user_ids, is_active=True)
    hashes = {user.pk: user.get_session_auth_hash() for user in people}
    projects: defaultdict[int, set[int]] = defaultdict(set)
    project_ids = {project for subscription in subscriptions for project in subscription.project_ids}
    every = any(subscription.every for subscription in subscriptions)
    for user_id, project_id in access.user_and_project_ids_of_members(
        user_ids, None if every else project_ids
    ):
        projects[user_id].add(project_id)
    sessions = set(
        Session.objects.filter(
            session_key__in={subscription.session_key for subscription in subscriptions},
            # By the clock of the database
            expire_date__gt=Now(),
        ).values_list("session_key", flat=True)
    )
    signed_in = {
        subscription
        for subscription in subscriptions
        if subscription.session_key in sessions
        and constant_time_compare(hashes.get(subscription.user_id, ""), subscription.session_hash)
    }
    valid = frozenset(
        subscription
        for subscription in signed_in
        if _has_project_access(subscription, projects[subscription.user_id])
    )
    return SubscriptionCheck(
        valid,
        frozenset(
            subscription
            for subscription in signed_in - valid
            if subscription.every and projects[subscription.user_id]
        ),
    )


def _has_project_access(subscription: Subscription, projects: set[int]) -> bool:
    return (
        # Of all projects: one more or one less makes it another subscription.
        subscription.project_ids == projects if subscription.every else subscription.project_ids <= projects
    )
