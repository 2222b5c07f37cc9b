"""A property of every decision that any test has made the engine take: under its own version it comes out the same."""

from __future__ import annotations

from django.db.models import QuerySet

from pipelines.models import Decision
from pipelines.models.plumbing.compiled_queries import server_prepared
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.verdict import Verdict, redecide


@server_prepared()
def _decisions() -> QuerySet[Decision]:
    return Decision.objects.order_by("task", "at")


def not_the_same() -> list[str]:
    """Recorded decisions that a back-test against the version that took them would call anything else than same."""
    found = []
    for decision in _decisions():
        line = versions.parsed_line_by_version_id(decision.pinned_id)
        again = redecide(line, decision.situation, decision.answer, line)
        if again.verdict != Verdict.SAME:
            found.append(f"{decision.station}, {decision.cause}: {again}")
    return found
