"""Seeing a review later. It filters the list of one person only: due time, reminders and duty stay as they are."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, QuerySet, UUIDField
from django.db.models.functions import Now

from pipelines.errors import Conflict, Invalid
from pipelines.models import GateVisit, User
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.ports import clock
from pipelines.ports.observers import PersonHint, publish_committed_hints
from reviews.models import ReviewSnooze

LONGEST = timedelta(days=30)


def snooze_open_review(visit: GateVisit, user: User, until: datetime) -> ReviewSnooze:
    """Raises Invalid (path `until`: past, or further away than 30 days), Conflict (closed)."""
    if visit.state != GateVisit.State.OPEN:
        raise Conflict("This review is closed.")
    now = clock.now()
    if not now < until <= now + LONGEST:
        raise Invalid.at("until", "Choose a time within 30 days.", "A time from now on.")
    stored_snooze, _made = ReviewSnooze.objects.update_or_create(
        visit=visit, user=user, defaults={"until": until}
    )
    publish_committed_hints([PersonHint(user.pk)])
    return stored_snooze


def end_snooze(visit: GateVisit, user: User) -> None:
    """Show it again now."""
    if ReviewSnooze.objects.filter(visit=visit, user=user).delete()[0]:
        publish_committed_hints([PersonHint(user.pk)])


def snooze_end_if_snoozed_now(visit: GateVisit, user: User) -> datetime | None:
    """Return when this person sees the visit again, if not now."""
    return _snooze_end_query.first(visit=visit.pk, user=user.pk)


@compiled(visit=UUIDField(), user=BigIntegerField())
def _snooze_end_query(visit: Any, user: Any) -> QuerySet[ReviewSnooze, datetime]:
    snoozed = ReviewSnooze.objects.filter(visit=visit, user=user, until__gt=Now())
    return snoozed.values_list("until", flat=True)
