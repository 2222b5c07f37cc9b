"""Reviews as lists beside a dossier: those that ask this person, and those of which there is nothing to do now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pipelines.models import GateVisit, User
from pipelines.queries.dates import EVER, Dates
from pipelines.queries.line_filter import choices, named, of_line
from pipelines.queries.versions import parsed
from pipelines.web.shell.dates import dates_of
from pipelines.web.shell.scope import Scope, scope_of
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
    """One row; `key` marks it in the address. `state`: how the gate visit went, `open` while it waits."""

    key: str
    line: str
    place: str
    number: str
    project: str
    title: str
    requester: str
    url: str
    verb: str
    state: str
    since: datetime
    due_at: datetime | None
    round: int
    votes: str
    note: str

    @property
    def order(self) -> tuple[bool, datetime]:
        """Due first, then the oldest."""
        return (self.due_at is None, self.due_at or self.since)


@dataclass(frozen=True)
class ReviewList:
    """One list, of the projects that are in view. Both stand in the address of each of its reviews, so that the list
    stays beside it."""

    tab: str
    scope: Scope
    line: str = ""
    dates: Dates = EVER
    """When the gate opened; of what was decided, when it was."""

    @property
    def query(self) -> str:
        chosen = {"tab": "" if self.tab == ASKED else self.tab, "project": self.scope.key}
        chosen |= {"line": self.line, **self.dates.query}
        return urlencode({key: value for key, value in chosen.items() if value})

    @property
    def suffix(self) -> str:
        return f"?{self.query}" if self.query else ""

    @property
    def address(self) -> str:
        """Of the list alone; what needs somebody has a page of its own."""
        if self.tab == ASKED:
            return reverse(ASKED) + (f"?{urlencode({'project': self.scope.key})}" if self.scope.key else "")
        return reverse("inbox") + self.suffix


def review_list(request: HttpRequest) -> ReviewList:
    tab = request.GET.get("tab", "")
    tab = tab if tab in dict(TABS) else ASKED
    scope = scope_of(request, ASKED if tab == ASKED else "inbox")
    if tab == ASKED:
        return ReviewList(tab, scope)
    line = named(request.GET.get("line", ""), choices(scope.projects), scope.projects)
    return ReviewList(tab, scope, line, dates_of(request))


def items(user: User, shown: ReviewList) -> list[ReviewItem]:
    tab = shown.tab
    if tab == "done":
        return [_item(visit, shown) for visit in _decided(shown, user)[:50]]
    if tab == "mine":
        found: Iterable[GateVisit] = _open(shown).filter(task__requester=user)[:LIMIT]
    else:
        found = islice(_gates(user, shown, mine=tab == ASKED), LIMIT)
    return sorted((_item(visit, shown) for visit in found), key=lambda item: item.order)


def _gates(user: User, shown: ReviewList, *, mine: bool) -> Iterator[GateVisit]:
    """Every open gate that asks this person, or that does not: gates of others must never crowd out one's own."""
    standings = Standings(user)
    return (visit for visit in _open(shown).iterator(chunk_size=LIMIT) if standings.at(visit).may == mine)


def _item(visit: GateVisit, shown: ReviewList) -> ReviewItem:
    line = parsed(visit.asked_by.pinned)
    rule = visit.evidence.get("rule") or {}
    is_open = visit.state == GateVisit.State.OPEN
    return ReviewItem(
        key=str(visit.pk),
        line=line.name,
        place=gate_of(line, visit.gate).name,
        number=visit.task.name,
        project=visit.task.project.name or visit.task.project.key if shown.scope.several else "",
        title=visit.task.title,
        requester=visit.task.requested_by,
        url=reverse("gate-visit", args=[visit.pk]) + shown.suffix,
        verb=_("Review") if is_open else visit.word_display or _("Closed"),
        state="open" if is_open else visit.word or "closed",
        since=visit.opened_at if is_open else visit.decided_at or visit.opened_at,
        due_at=visit.due_at if is_open else None,
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


def _visits(shown: ReviewList) -> QuerySet[GateVisit]:
    return (
        GateVisit.objects.filter(of_line(shown.line, "task__line"), task__project__in=shown.scope.projects)
        .select_related("task__project__owner", "task__line", "task__requester", "job", "asked_by__pinned")
        .prefetch_related("votes__user")
    )


def _open(shown: ReviewList) -> QuerySet[GateVisit]:
    visits = _visits(shown).filter(shown.dates.of("opened_at"), state=GateVisit.State.OPEN)
    return visits.order_by("opened_at", "position")


def _decided(shown: ReviewList, user: User) -> QuerySet[GateVisit]:
    mine = (Q(decided_by=user) | Q(votes__user=user)) & shown.dates.of("decided_at")
    return _visits(shown).filter(mine).exclude(state=GateVisit.State.OPEN).distinct().order_by("-decided_at")
