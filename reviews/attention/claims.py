"""Claiming a review: a sign to others, and no lock on the decision. By the clock of the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, UUIDField
from django.db.models.functions import Now

from pipelines.errors import Conflict, Forbidden
from pipelines.models import GateVisit, User
from pipelines.models.plumbing.compiled import compiled, fetch
from reviews.attention.hints import hint
from reviews.models import ReviewClaim
from reviews.models.statements import CLAIM

LASTS = timedelta(hours=1)


@transaction.atomic
def claim(visit: GateVisit, user: User) -> ReviewClaim:
    """Claim it for an hour, or for one more. Raises Conflict (closed, or claimed by somebody else)."""
    won = bool(fetch(CLAIM, [user.pk, LASTS.total_seconds(), visit.pk]))
    found = current(visit)
    if not won or found is None:
        if found is None:
            raise Conflict("This review is closed.")
        raise Conflict(f"{found.user} has claimed this review.", by=str(found.user), at=found.at)
    hint(visit.task.project)
    return found


@transaction.atomic
def release(visit: GateVisit, user: User, *, owner: bool) -> None:
    """Release one's own claim, or, as an administrator (`owner`), anybody's; what is not claimed stays so.

    Raises Forbidden."""
    found = current(visit)
    if found is None:
        return
    if found.user_id != user.pk and not owner:
        raise Forbidden(f"Only {found.user} or an administrator can release this claim.")
    ReviewClaim.objects.filter(visit=visit, user=found.user).delete()
    hint(visit.task.project)


def current(visit: GateVisit) -> ReviewClaim | None:
    """The claim that counts now, if any."""
    return _counting.first(visit=visit.pk)


@compiled(visit=UUIDField())
def _counting(visit: Any) -> QuerySet[ReviewClaim]:
    return ReviewClaim.objects.filter(visit=visit, until__gt=Now()).select_related("user")
