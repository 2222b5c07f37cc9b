"""The record of administrative acts of a project, narrowed as its reader asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Q, QuerySet

from pipelines.models import AdministrativeAct, Project, User
from pipelines.ports.audit import KINDS
from pipelines.queries import actor_names


@dataclass(frozen=True, slots=True)
class ActFilter:
    """Filter of administrative acts. A value that does not exist narrows nothing: `who` is part of a user
    name, of the actor's or of whom it was about."""

    kind: str = ""
    who: str = ""
    since: date | None = None
    until: date | None = None


def administrative_acts(project: Project, filters: ActFilter) -> QuerySet[AdministrativeAct]:
    """The latest first, with those of its owner, which reach the project. Days are of the active time zone."""
    of_owner = Q(project=None, about=f"owner:{project.owner_id}")
    rows = AdministrativeAct.objects.filter(Q(project=project) | of_owner)
    if filters.kind in KINDS:
        rows = rows.filter(kind=filters.kind)
    if filters.who:
        user_ids = User.objects.filter(username__icontains=filters.who).values_list("pk", flat=True)
        # Bounds the statement where a letter or two fits nearly everybody.
        refs = [f"person:{pk}" for pk in user_ids[:1_000]]
        rows = rows.filter(Q(actor__in=refs) | Q(about__in=refs) | Q(name__icontains=filters.who))
    if filters.since:
        rows = rows.filter(at__date__gte=filters.since)
    if filters.until:
        rows = rows.filter(at__date__lte=filters.until)
    return rows.order_by("-pk")


def acts_as_flat_dicts(rows: QuerySet[AdministrativeAct]) -> Iterator[dict[str, Any]]:
    """Yield each act as a flat object, for a file."""
    names: dict[str, actor_names.ActorLabel] = {}
    for act in rows.iterator(chunk_size=500):
        # Few people do most of it: each is looked up once
        if act.actor not in names:
            names |= actor_names.label_by_actor([act.actor])
        yield {
            "at": act.at.isoformat(),
            "actor": act.actor,
            "actor_name": names[act.actor].name,
            "kind": act.kind,
            "about": act.about,
            "name": act.name,
            "data": act.data,
        }
