"""Gate visits and their votes as a person's word meets them, by statements that the server keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Subquery, UUIDField

from pipelines.engine.statements import DECIDE
from pipelines.errors import NotFound
from pipelines.models import GateVisit, Vote
from pipelines.models.plumbing.compiled_queries import server_prepared
from pipelines.models.plumbing.statements import Statement, send


def visit_of(visit_id: UUID) -> GateVisit:
    """Return the visit with its job, the decision that asked it and whoever decided it. Raises NotFound."""
    return find_visit(visit_id, asked_with(visit=visit_id))


def find_visit(visit_id: UUID, together: Sequence[GateVisit]) -> GateVisit:
    """Return the visit with this id among those read together. Raises NotFound."""
    for visit in together:
        if visit.pk == visit_id:
            return visit
    raise NotFound()


@server_prepared(visit=UUIDField())
def asked_with(visit: Any) -> QuerySet[GateVisit, GateVisit]:
    """Return the visit and the others that its decision asked, in order: each with its job, that decision and

    whoever decided it.
    """
    decisions = GateVisit.objects.filter(pk=visit).values("asked_by")
    together = GateVisit.objects.filter(asked_by=Subquery(decisions))
    return together.select_related("job", "asked_by", "decided_by").order_by("position")


@server_prepared(visit=UUIDField())
def votes_on(visit: Any) -> QuerySet[Vote, Vote]:
    """Return the votes in their order, with whoever cast them."""
    return Vote.objects.filter(visit=visit).select_related("user").order_by("pk")


def store_visit_decision(visit: GateVisit, decided: Mapping[str, Any], token_version: int) -> bool:
    """Compare and swap: a visit is decided once (house §4). `decided`: all of its columns that change but its state;
    the visit has them then, too. False: it was open no more, or at another version of the token."""
    by = decided["decided_by"]
    decision_values = [decided["word"], decided["route"], decided["reason"], by.pk if by else None]
    moment = [decided["decided_at"], decided["overridden"], visit.pk, token_version]
    [updated] = send([Statement(DECIDE, [*decision_values, *moment])])
    if updated:
        visit.state = GateVisit.State.DECIDED
        for name, value in decided.items():
            setattr(visit, name, value)
    return bool(updated)
