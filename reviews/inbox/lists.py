"""Reviews as lists beside a dossier: those that ask this person, and those of which there is nothing to do now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models.fields.json import KeyTransform
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pipelines.models import GateVisit, Line, User
from pipelines.queries import versions
from pipelines.queries.dates import EVER, Dates
from pipelines.queries.line_filter import choices, named, of_line
from pipelines.web.shell.dates import dates_of
from pipelines.web.shell.scope import Scope, scope_of
from reviews.asked import MOST, Narrowed, Place, asked, decided, of_team, requested
from reviews.decision.gates import gate_of

PAGE = 50
NOT_READ = ("task__context", "task__variables", "task__inputs", "task__visits", "task__edges", "task__rules",
            "task__rounds", "task__line__draft", "task__line__draft_text", "task__line__draft_hands", "evidence",
            "asked_by__situation", "asked_by__trace")  # fmt: skip
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
    def narrowed(self) -> Narrowed:
        """The same for SQL."""
        projects = [project.pk for project in self.scope.projects]
        chosen = Line.objects.filter(of_line(self.line, ""), project__in=projects) if self.line else None
        lines = None if chosen is None else list(chosen.values_list("pk", flat=True))
        since, until = self.dates.bounds
        return Narrowed(projects, lines, since=since, until=until)

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


def items(user: User, shown: ReviewList, most: int = PAGE, after: Place | None = None) -> list[ReviewItem]:
    """The next rows of the list, in its order."""
    return [_item(visit, shown) for visit in _read(_places(user, shown, most, after))]


def how_many(user: User, shown: ReviewList) -> int:
    """How many rows the list has, counted up to one more than `MOST`."""
    return len(_places(user, shown, MOST + 1, None))


def _places(user: User, shown: ReviewList, most: int, after: Place | None) -> list[Place]:
    """Where the rows of the list stand; what is asked of SQL does not grow with it."""
    if shown.tab == "done":
        return decided(user, shown.narrowed, most, after)
    if shown.tab == "mine":
        return requested(user, shown.narrowed, most, after)
    return (asked if shown.tab == ASKED else of_team)(user, shown.narrowed, most, after)


def _read(places: Sequence[Place]) -> list[GateVisit]:
    """The visits at these places; one that was purged meanwhile is left out."""
    visits = (
        GateVisit.objects.filter(pk__in=[visit_id for _at, visit_id in places])
        .select_related("task__project__owner", "task__line", "task__requester", "asked_by")
        .defer(*NOT_READ)
        .annotate(rule=KeyTransform("rule", "evidence"))
        .prefetch_related("votes")
    )
    found = {visit.pk: visit for visit in visits}
    return [found[visit_id] for _at, visit_id in places if visit_id in found]


def _item(visit: GateVisit, shown: ReviewList) -> ReviewItem:
    line = versions.by_id(visit.asked_by.pinned_id)
    rule = getattr(visit, "rule", None) or {}
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
    policy = gate_of(versions.by_id(visit.asked_by.pinned_id), visit.gate).approval
    need = sum(requirement.count for requirement in policy.who)
    have = sum(vote.word == "approve" for vote in visit.votes.all())
    return _("%(n)s of %(m)s approvals") % {"n": have, "m": need} if need > 1 else ""
