"""The record of administrative acts of a project, narrowed as its reader asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Q, QuerySet

from pipelines.models import AdministrativeAct, Project, User
from pipelines.ports.audit import KINDS
from pipelines.queries import people


@dataclass(frozen=True, slots=True)
class ActFilter:
    """What does not exist narrows nothing: `who` is part of a user name, of the actor's or of whom it was about."""

    kind: str = ""
    who: str = ""
    since: date | None = None
    until: date | None = None


def acts(project: Project, wanted: ActFilter) -> QuerySet[AdministrativeAct]:
    """The latest first, with those of its owner, which reach the project. Days are of the active time zone."""
    of_owner = Q(project=None, about=f"owner:{project.owner_id}")
    found = AdministrativeAct.objects.filter(Q(project=project) | of_owner)
    if wanted.kind in KINDS:
        found = found.filter(kind=wanted.kind)
    if wanted.who:
        named = User.objects.filter(username__icontains=wanted.who).values_list("pk", flat=True)
        refs = [f"person:{pk}" for pk in named[:1_000]]
        found = found.filter(Q(actor__in=refs) | Q(about__in=refs) | Q(name__icontains=wanted.who))
    if wanted.since:
        found = found.filter(at__date__gte=wanted.since)
    if wanted.until:
        found = found.filter(at__date__lte=wanted.until)
    return found.order_by("-pk")


def exported(found: QuerySet[AdministrativeAct]) -> Iterator[dict[str, Any]]:
    """Each act as a flat object, for a file."""
    names: dict[str, people.Who] = {}
    for act in found.iterator(chunk_size=500):
        if act.actor not in names:
            names |= people.names([act.actor])
        yield {
            "at": act.at.isoformat(),
            "actor": act.actor,
            "actor_name": names[act.actor].name,
            "kind": act.kind,
            "about": act.about,
            "name": act.name,
            "data": act.data,
        }
