"""Offers of open gates outside of the inbox: what each decision leads to, and whom they wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.db.models import prefetch_related_objects
from django.urls import reverse

from pipelines.models import GateVisit
from pipelines.queries.versions import parsed_version
from reviews.decision.consequences import VoteOption, offered_votes_within_allowed_rounds
from reviews.decision.entitlements import Entitlements
from reviews.mail import folder

register = template.Library()


@dataclass(frozen=True, slots=True)
class GateChoices:
    """The name of a gate, and what is offered there."""

    gate: str
    options: list[VoteOption]


@dataclass(frozen=True, slots=True)
class WaitingReview:
    """Gate that waits. `mine`: whether the reader may decide. `mail`: the page of the last development mail about
    the task, for who may read it, else ""."""

    visit: GateVisit
    gate: str
    mine: bool
    mail: str


@register.simple_tag(takes_context=True)
def waiting_at(context: dict[str, Any], visits: list[GateVisit]) -> list[WaitingReview]:
    """Describe these open visits of one task."""
    prefetch_related_objects(visits, "asked_by__pinned", "votes")
    standings = Entitlements(context["request"].user)
    letters = folder.latest_letters() if visits and folder.may_open_folder(context["request"]) else []
    name = visits[0].task.name if visits else ""
    letter = next((letter.name for letter in letters if name in letter.subject), "")
    return [
        WaitingReview(
            visit,
            parsed_version(visit.asked_by.pinned).gate(visit.gate).name,
            standings.entitlement_to_visit(visit).may,
            reverse("mail-dev-message", args=[letter]) if letter else "",
        )
        for visit in visits
    ]


@register.simple_tag
def offers_at(visits: list[GateVisit]) -> list[GateChoices]:
    """Return the offers of each of these open visits, with four statements for all of them."""
    prefetch_related_objects(visits, "asked_by__pinned", "asked_by__gate_visits", "votes")
    return [
        GateChoices(
            parsed_version(visit.asked_by.pinned).gate(visit.gate).name,
            offered_votes_within_allowed_rounds(visit),
        )
        for visit in visits
    ]
