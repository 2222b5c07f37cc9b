"""Recording how long a review is looked at (human minutes), without saying by whom.

The page says now and then that somebody is there and touched something within two minutes (static/ts/attention.ts);
what counts is the time between two such words by the clock of the database, and none of a longer silence."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from pipelines import access
from pipelines.models import GateVisit
from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.web.shell.page import SignedInRequest, sign_in_required
from reviews.decision.entitlements import Entitlements
from reviews.models.statements import BEGIN_SITTING, CONTINUE_SITTING

SILENCE = 60
"""Seconds. The page speaks every twenty; a longer silence was idle, hidden or offline."""
MOST = 200
"""Pages of one review that are counted."""


def record_look_and_return_sitting(visit: GateVisit, sitting: str) -> str:
    """Record that somebody is still looking at the review. `sitting`: what the last call returned, "" at first.

    Returns the id for the next call, "" where no more are counted.
    """
    known = _uuid_or_none(sitting)
    if known and fetch(CONTINUE_SITTING, [SILENCE, known, visit.pk]):
        return str(known)
    made = uuid.uuid4()
    return str(made) if fetch(BEGIN_SITTING, [made, visit.pk, visit.pk, MOST, MOST]) else ""


def record_leave_of_open_review(visit: GateVisit, sitting: str) -> None:
    """Record the end of looking at a review, with the decision: before the vote, so that the visit is still
    open."""
    known = _uuid_or_none(sitting)
    if known and visit.state == GateVisit.State.OPEN:
        execute(CONTINUE_SITTING, [SILENCE, known, visit.pk])


def _uuid_or_none(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


@sign_in_required
@require_POST
def record_attention_of_who_may_decide(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    """Record the attention of whoever may decide an open review; 204 for everybody else, which ends the
    page's calls."""
    gate_visit = GateVisit.objects.select_related("task__project", "job", "asked_by").filter(pk=visit).first()
    if gate_visit is None or not access.is_permitted(request.user, "view", gate_visit.task.project):
        raise Http404
    if (
        gate_visit.state != GateVisit.State.OPEN
        or not Entitlements(request.user).entitlement_to_visit(gate_visit).may
    ):
        return HttpResponse(status=204)
    sitting = record_look_and_return_sitting(gate_visit, request.POST.get("sitting", ""))
    return render(request, "reviews/_sitting.html", {"sitting": sitting})
