"""The history of one decision as a document: who, when, through which channel, about what exactly (law §6)."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.models import Event, GateVisit
from pipelines.routing.basics.hidden_characters import escape_hidden_json
from pipelines.web.shell.page import SignedInRequest, sign_in_required
from reviews.models import ReviewClaim, ReviewQuestion

KINDS = ("gate.opened", "gate.voted", "gate.overridden", "gate.overdue", "gate.decided", "gate.closed")


@require_safe
@sign_in_required
def download_history(request: SignedInRequest, visit: uuid.UUID) -> HttpResponse:
    """Every round of the gate in the task of this visit, as JSON."""
    gate_visit = (
        GateVisit.objects.select_related("task__project__owner", "task__line").filter(pk=visit).first()
    )
    if gate_visit is None or not access.is_permitted(request.user, "view", gate_visit.task.project):
        raise Http404
    document = json.dumps(
        document_of_all_rounds(gate_visit), cls=DjangoJSONEncoder, indent=2, ensure_ascii=False
    )
    answer = HttpResponse(escape_hidden_json(document), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{gate_visit.task.name}-decisions.json"'
    return answer


def document_of_all_rounds(visit: GateVisit) -> dict[str, Any]:
    task = visit.task
    rounds = GateVisit.objects.filter(task=task, gate=visit.gate).select_related(
        "decided_by", "asked_by__pinned"
    )
    events: dict[str, list[Event]] = {}
    for event in Event.objects.filter(task=task, kind__in=KINDS).order_by("seq"):
        events.setdefault(str(event.data.get("visit")), []).append(event)
    by_visit: dict[uuid.UUID, list[dict[str, Any]]] = {}
    questions = ReviewQuestion.objects.filter(task=task, gate=visit.gate).select_related("asked_by", "asked")
    for question in questions.order_by("pk"):
        by_visit.setdefault(question.visit_id, []).append(_question_fields(question))
    review_claims = ReviewClaim.objects.filter(visit__task=task, visit__gate=visit.gate).select_related(
        "user"
    )
    claims = {review_claim.visit_id: review_claim for review_claim in review_claims}
    return {
        "task": task.name,
        "title": task.title,
        "line": task.line.key,
        "gate": visit.gate,
        "requested_by": task.requested_by,
        "rounds": [
            _round_fields(round_visit, events.get(str(round_visit.pk), []))
            | {
                "claim": _claim_fields_or_none(claims.get(round_visit.pk)),
                "questions": by_visit.get(round_visit.pk, []),
            }
            for round_visit in rounds.prefetch_related("votes__user", "votes__stands_for").order_by(
                "opened_at", "pk"
            )
        ],
    }


def _round_fields(visit: GateVisit, events: list[Event]) -> dict[str, Any]:
    return {
        "visit": str(visit.pk),
        "round": visit.round,
        "line_version": visit.asked_by.pinned.number,
        "state": visit.state,
        "opened_at": visit.opened_at.isoformat(),
        "due_at": visit.due_at.isoformat() if visit.due_at else None,
        "decided_at": visit.decided_at.isoformat() if visit.decided_at else None,
        "decided_by": visit.decided_by.username if visit.decided_by else None,
        "word": visit.word or None,
        "route": visit.route or None,
        "reason": visit.reason or None,
        "overridden": visit.overridden,
        "evidence_digest": visit.evidence_digest,
        "evidence": visit.evidence,
        "votes": [
            {
                "by": vote.user.username,
                "stands_for": vote.stands_for.username if vote.stands_for else None,
                "word": vote.word,
                "reason": vote.reason,
                "route": vote.route or None,
                "fields": vote.fields,
                "via": vote.via,
                "chat": vote.chat or None,
                "at": vote.at.isoformat(),
                "evidence_digest": vote.evidence_digest,
                "entitled_as": vote.entitled_as,
            }
            for vote in sorted(visit.votes.all(), key=lambda vote: vote.pk)
        ],
        "events": [
            {"seq": event.seq, "kind": event.kind, "actor": event.actor, "at": event.at.isoformat()}
            | ({"unopened": event.data["unopened"]} if "unopened" in event.data else {})
            for event in events
        ],
    }


def _claim_fields_or_none(review_claim: ReviewClaim | None) -> dict[str, Any] | None:
    """The last claim of a round, unless it was released."""
    if review_claim is None:
        return None
    return {
        "by": review_claim.user.username,
        "at": review_claim.at.isoformat(),
        "until": review_claim.until.isoformat(),
    }


def _question_fields(question: ReviewQuestion) -> dict[str, Any]:
    return {
        "by": question.asked_by.username,
        "asked": question.asked.username,
        "text": question.text,
        "at": question.at.isoformat(),
        "answer": question.answer or None,
        "answered_at": question.answered_at.isoformat() if question.answered_at else None,
    }
