"""Reviews as lists beside a dossier: those that ask this person, and those of which there is nothing to do now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pipelines import access
from pipelines.models import GateVisit, Project, User
from pipelines.queries.versions import parsed
from reviews.decision.gates import gate_of
from reviews.decision.standing import Standings

# A list is read, not scrolled for ever: the rest comes up as these are done.
LIMIT = 200
ASKED = "needs-me"
TABS = (
    (ASKED, gettext_lazy("Needs you")),
    ("mine", gettext_lazy("Requested by you")),
    ("others", gettext_lazy("Team")),
    ("done", gettext_lazy("Decided")),
)
"""The first is the page of everything that needs somebody; of it the list beside a dossier has the gates."""


@dataclass(frozen=True)
class ReviewItem:
    """One row; `key` marks it in the address."""

    key: str
    line: str
    place: str
    number: str
    title: str
    requester: str
    url: str
    verb: str
    since: datetime
    due_at: datetime | None
    round: int
    votes: str
    note: str

    @property
    def order(self) -> tuple[bool, datetime]:
        """Due first, then the oldest."""
        return (self.due_at is None, self.due_at or self.since)


def items(user: User, tab: str) -> list[ReviewItem]:
    projects = list(access.visible_projects(user))
    if tab == "done":
        return [_item(visit) for visit in _decided(projects, user)[:50]]
    if tab == "mine":
        found: Iterable[GateVisit] = _open(projects).filter(task__requester=user)[:LIMIT]
    else:
        found = islice(_gates(user, projects, mine=tab == ASKED), LIMIT)
    return sorted(map(_item, found), key=lambda item: item.order)


def _gates(user: User, projects: Sequence[Project], *, mine: bool) -> Iterator[GateVisit]:
    """Every open gate that asks this person, or that does not: gates of others must never crowd out one's own."""
    standings = Standings(user)
    return (visit for visit in _open(projects).iterator(chunk_size=LIMIT) if standings.at(visit).may == mine)


def _item(visit: GateVisit) -> ReviewItem:
    line = parsed(visit.asked_by.pinned)
    rule = visit.evidence.get("rule") or {}
    return ReviewItem(
        key=str(visit.pk),
        line=line.name,
        place=gate_of(line, visit.gate).name,
        number=visit.task.name,
        title=visit.task.title,
        requester=visit.task.requested_by,
        url=reverse("gate-visit", args=[visit.pk]),
        verb=_("Review") if visit.state == GateVisit.State.OPEN else visit.word_display or _("Closed"),
        since=visit.opened_at,
        due_at=visit.due_at if visit.state == GateVisit.State.OPEN else None,
        round=visit.round,
        votes=_votes(visit),
        note=_("rule: %(rule)s") % {"rule": rule.get("label") or rule.get("id")} if rule else "",
    )


def _votes(visit: GateVisit) -> str:
    need = sum(
        requirement.count for requirement in gate_of(parsed(visit.asked_by.pinned), visit.gate).approval.who
    )
    have = sum(vote.word == "approve" for vote in visit.votes.all())
    return _("%(n)s of %(m)s approvals") % {"n": have, "m": need} if need > 1 else ""


def _visits(projects: Sequence[Project]) -> QuerySet[GateVisit]:
    return (
        GateVisit.objects.filter(task__project__in=projects)
        .select_related("task__project__owner", "task__line", "task__requester", "job", "asked_by__pinned")
        .prefetch_related("votes__user")
    )


def _open(projects: Sequence[Project]) -> QuerySet[GateVisit]:
    return _visits(projects).filter(state=GateVisit.State.OPEN).order_by("opened_at", "position")


def _decided(projects: Sequence[Project], user: User) -> QuerySet[GateVisit]:
    mine = Q(decided_by=user) | Q(votes__user=user)
    return (
        _visits(projects).filter(mine).exclude(state=GateVisit.State.OPEN).distinct().order_by("-decided_at")
    )
