"""Last return of the work of a review, by whom and why, as a row of a list says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import OuterRef, Subquery
from django.db.models.functions import JSONObject, Left

from pipelines.models import GateVisit, Word
from pipelines.models.gates import BY_DUE_TIME, DECISIONS, RETURNS
from pipelines.routing.basics.hidden_characters import escape_hidden

MAX_REASON: Final = 160
"""Characters of a reason that a row shows at most."""


def last_return_of_visit() -> Subquery:
    """Return the last decision that sent the work of a visit back before it opened, as an object; NULL of none."""
    earlier = GateVisit.objects.filter(
        task=OuterRef("task"),
        gate=OuterRef("gate"),
        word__in=RETURNS,
        decided_at__lte=OuterRef("opened_at"),
    )
    fields = JSONObject(
        word="word",
        username="decided_by__username",
        first_name="decided_by__first_name",
        last_name="decided_by__last_name",
        reason=Left("reason", MAX_REASON),
    )
    return Subquery(earlier.order_by("-decided_at").values(decision=fields)[:1])


def last_return_text_or_empty(decision: Mapping[str, Any] | None) -> str:
    """“Sent back by Ann: Count by account”."""
    if decision is None:
        return ""
    names = [str(decision[key] or "") for key in ("first_name", "last_name")]
    person = " ".join(filter(None, names)) or decision["username"] or BY_DUE_TIME
    text = f"{DECISIONS[Word(decision['word'])]} by {person}"
    reason = " ".join(str(decision["reason"]).split())
    return escape_hidden(f"{text}: {reason}" if reason else text)
