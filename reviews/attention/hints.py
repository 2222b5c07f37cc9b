"""Tells the open pages of a project's members that something around a review has changed, after the commit."""

from __future__ import annotations

from django.db import transaction

from pipelines.models import Membership, Project
from pipelines.ports.observers import PersonHint, publish_committed_hints

MOST = 500
"""People who are told at once; the pages of the others find it when they ask again, within a minute."""


def hint_active_members_on_commit(project: Project) -> None:
    people = Membership.objects.filter(project=project, user__is_active=True).order_by("user_id")
    hints = [PersonHint(user_id) for user_id in people.values_list("user_id", flat=True)[:MOST]]
    # A push that fails must not look like an act that failed: it is only a hint.
    transaction.on_commit(lambda: publish_committed_hints(hints), robust=True)
