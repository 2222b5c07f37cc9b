"""Claiming a review: a sign to others, and no lock on the decision. By the clock of the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, UUIDField
from django.db.models.functions import Now

from pipelines.errors import Conflict, Forbidden
from pipelines.models import GateVisit, User
from pipelines.models.plumbing.compiled_queries import compiled, fetch
from reviews.attention.hints import hint_active_members_on_commit
from reviews.models import ReviewClaim
from reviews.models.statements import CLAIM

LASTS = timedelta(hours=1)


@transaction.atomic
def claim_or_extend_review_for_an_hour(visit: GateVisit, user: User) -> ReviewClaim:
    """Claim it for an hour, or for one more. Raises Conflict (closed, or claimed by somebody else)."""
    won = bool(fetch(CLAIM, [user.pk, LASTS.total_seconds(), visit.pk]))
    current_claim = claim_in_force_or_none(visit)
    if not won or current_claim is None:
        if current_claim is None:
            raise Conflict("This review is closed.")
        raise Conflict(
            f"{current_claim.user} has claimed this review.", by=str(current_claim.user), at=current_claim.at
        )
    hint_active_members_on_commit(visit.task.project)
    return current_claim


@transaction.atomic
def release_claim_if_any(visit: GateVisit, user: User, *, is_administrator: bool) -> None:
    """Release one's own claim, or, as an administrator (`is_administrator`), anybody's; what is not claimed stays so.

    Raises Forbidden."""
    current_claim = claim_in_force_or_none(visit)
    if current_claim is None:
        return
    if current_claim.user_id != user.pk and not is_administrator:
        raise Forbidden(f"Only {current_claim.user} or an administrator can release this claim.")
    # Of this person alone: since it was read somebody else may have claimed the review
    ReviewClaim.objects.filter(visit=visit, user=current_claim.user).delete()
    hint_active_members_on_commit(visit.task.project)


def claim_in_force_or_none(visit: GateVisit) -> ReviewClaim | None:
    """The claim that counts now, if any."""
    return _claims_in_force.first(visit=visit.pk)


@compiled(visit=UUIDField())
def _claims_in_force(visit: Any) -> QuerySet[ReviewClaim]:
    return ReviewClaim.objects.filter(visit=visit, until__gt=Now()).select_related("user")
