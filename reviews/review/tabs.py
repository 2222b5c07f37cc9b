"""The tabs of a review. The page opens with the one to look at first."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from pipelines.models import GateVisit
from reviews.review.changes import ReviewChanges
from reviews.review.evidence import ReviewEvidence

LIST_PARAMETERS = ("tab", "project", "word")
"""What belongs to the list beside, and what is armed."""


@dataclass(frozen=True)
class ReviewTab:
    key: str
    label: str
    url: str
    current: bool
    count: int | None = None
    contradicted: int = 0


def tabs_with_counts(
    query: QueryDict, visit: GateVisit, changes: ReviewChanges, evidence: ReviewEvidence
) -> list[ReviewTab]:
    files = len(changes.start_files) if changes.has_files else 0
    offered: list[tuple[str, str, int | None]] = [
        *([("changes", "Changes", files)] if changes.has_files else []),
        *([("findings", "Findings", evidence.finding_count or None)] if evidence.reports else []),
        *([("claims", "Claims", None)] if evidence.claims else []),
        ("output", "Output", None),
        ("log", "Log", None),
        ("history", "History", None),
    ]
    if changes.has_files and not files:
        # A plan, an answer: nothing changed yet, and what is to be decided about is what it says.
        offered.sort(key=lambda tab: tab[0] != "output")
    keys = [key for key, _label, _count in offered]
    requested = query.get("show", "")
    current = requested if requested in keys else keys[0]
    list_parameters = [(key, query[key]) for key in LIST_PARAMETERS if query.get(key)]
    address = reverse("gate-visit", args=[visit.pk])
    return [
        ReviewTab(
            key,
            label,
            f"{address}?{urlencode([*list_parameters, ('show', key)])}",
            key == current,
            count,
            evidence.contradicted_count if key == "claims" else 0,
        )
        for key, label, count in offered
    ]
