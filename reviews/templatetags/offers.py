"""What each decision at an open gate leads to, for the page of the task: as the review says it."""

from __future__ import annotations

from dataclasses import dataclass

from django import template
from django.db.models import prefetch_related_objects

from pipelines.models import GateVisit
from pipelines.queries.versions import parsed
from reviews.decision.consequences import VoteOption, options
from reviews.decision.gates import gate_of

register = template.Library()


@dataclass(frozen=True, slots=True)
class GateChoices:
    """The name of a gate, and what is offered there."""

    gate: str
    options: list[VoteOption]


@register.simple_tag
def offers_at(visits: list[GateVisit]) -> list[GateChoices]:
    """Of each of these open visits, with four statements for all of them."""
    prefetch_related_objects(visits, "asked_by__pinned", "asked_by__gate_visits", "votes")
    return [
        GateChoices(gate_of(parsed(visit.asked_by.pinned), visit.gate).name, options(visit))
        for visit in visits
    ]
