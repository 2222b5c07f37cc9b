"""Reviews as lists beside a dossier: those that ask this person, and those of which there is nothing to do now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, F, OuterRef, QuerySet, UUIDField, When
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from pipelines.models import GateVisit, Project, Status, User, Vote, Word
from pipelines.models.plumbing.compiled import compiled
from pipelines.models.plumbing.compiled import ids as array
from pipelines.models.plumbing.private import hang
from pipelines.queries import versions
from pipelines.queries.dates import EVER
from pipelines.queries.line_filter import value_of
from pipelines.routing.sentences.names import by_rule
from reviews.decision.asked import MOST, Place, asked, decided, of_team, order_at, requested
from reviews.decision.consequences import LOOKS
from reviews.decision.gates import approval_words, gate_at, gate_of
from reviews.decision.standing import Standings
from reviews.inbox.chosen import ASKED, OLDEST, ReviewList
from reviews.inbox.item import InboxKind, Mine
from reviews.inbox.kinds import KINDS, OfferedItem, capped, offer
from reviews.models import ReviewQuestion

PAGE = 25
"""More than a screen; what comes next is fetched as the list is scrolled."""
CLOSED = ("info", "", "", "muted")
"""How a row looks that was closed without a decision, as `decision.consequences.LOOKS` has it for a word."""
READ = ("gate", "state", "word", "round", "producers", "overridden", "opened_at", "due_at", "decided_at",
        "task__project", "task__number", "task__title", "task__requester", "task__requested_by", "task__requesters",
        "asked_by__pinned", "job__reported_by")  # fmt: skip


@dataclass(frozen=True)
class ListRow:
    """One row of the left pane; `key` marks it in the address. `state`: how the gate visit went, `open` while it
    waits, or the status of what is no gate. `at`: what the list is sorted by. `due_at` is None for what is over."""

    kind: str
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
    at: datetime
    due_at: datetime | None = None
    round: int = 1
    votes: str = ""
    note: str = ""
    shape: str = "gate"
    icon: str = "manual"
    tone: str = "attention"
    claimed: str = ""
    """Who looks after it, "" for nobody."""
    waits_for: str = ""
    """Whose answer a reviewer waits for."""
    stand_in: str = ""
    """Of whom the reader would decide in the place."""
    heading: str = ""
    """Of the group that begins with this row."""

    @property
    def over(self) -> bool:
        """Whether it was decided, or closed."""
        return self.tone not in ("attention", "danger")

    @property
    def order(self) -> tuple[datetime, bool, str]:
        """Reviews come before the rest of one moment, so that a page of the list can end at one."""
        return (self.at, self.kind != "gate", self.key)

    @property
    def choose_words(self) -> str:
        return f"Select {self.title}"

    @property
    def round_words(self) -> str:
        return f"Round {self.round}"

    @property
    def cursor(self) -> str:
        """Names this place in the address of what comes after it."""
        return f"{self.at.isoformat()}~{self.key}"


@dataclass(frozen=True)
class ListPage:
    """What the left pane shows. `kinds`: (kind, how many) of what needs the reader. `more`: where the rest begins."""

    rows: Sequence[ListRow]
    more: str = ""
    kinds: Sequence[tuple[InboxKind, str]] = ()
    waiting: int = 0
    late: int = 0

    @property
    def waiting_words(self) -> str:
        return capped(self.waiting)

    @property
    def late_words(self) -> str:
        return capped(self.late)


def list_page(
    user: User,
    shown: ReviewList,
    now: datetime,
    after: Place | None = None,
    standings: Standings | None = None,
    rows: str = "",
) -> ListPage:
    """The next rows, in a number of statements that does not grow with them. `rows`: how many an address asks for."""
    size = _size(rows)
    if shown.tab == ASKED:
        return _needs(user, shown, now, after, standings or Standings(user), size)
    found = items(user, shown, size + 1, after)
    return ListPage(found[:size], found[size - 1].cursor if len(found) > size else "")


def _size(rows: str) -> int:
    """In whole pages, so that a list fetched anew has room for all that stands there, and for what comes among it."""
    wanted = int(rows) if rows.isascii() and rows.isdigit() and len(rows) < 9 else 0
    return min(MOST, max(1, -(-wanted // PAGE)) * PAGE)


def _needs(
    user: User, shown: ReviewList, now: datetime, after: Place | None, standings: Standings, size: int
) -> ListPage:
    """Reviews by pages; what else needs somebody is little, and stands where it belongs among them."""
    mine = Mine(user, of=shown.scope.projects)
    kinds = [kind for kind in KINDS if kind.key != "gate" and not shown.only_gates]
    found = [offer(kind, need, mine) for kind in kinds for need in kind.query(mine)]
    lines = [
        each for each in found if shown.line in ("", _line_of(each, shown)) and each.need.since in shown.dates
    ]
    wanted = [each for each in lines if shown.kind in ("", each.need.kind)]
    others = [_other(each, shown) for each in wanted]
    # Due first, as their places say when they are due, whatever the rows are sorted by.
    waiting = _places(user, replace(shown, kind="", sort=""), MOST + 1, None, standings)
    gates: list[ListRow] = []
    if shown.kind in ("", "gate"):
        first = waiting[: size + 1] if not shown.sort and after is None else None
        gates = items(user, shown, size + 1, after, standings, first)
    ends = gates[size - 1] if len(gates) > size else None
    if after:
        others = [row for row in others if row.at > after[0]]
    if ends:
        others = [row for row in others if row.at <= ends.at]
    rows = sorted([*gates[:size], *others], key=lambda row: row.order)
    if not shown.sort:
        rows = _under_headings(rows, now, after)
    counts = Counter(each.need.kind for each in lines)
    counts["gate"] = len(waiting)
    shown_kinds = [
        (each, capped(counts[each.key])) for each in KINDS if counts[each.key] or each.key == shown.kind
    ]
    late = sum(at < now for at, _visit in waiting) if shown.kind in ("", "gate") else 0
    late += sum(1 for each in wanted if each.need.due_at and each.need.due_at < now)
    return ListPage(rows, ends.cursor if ends else "", shown_kinds, sum(counts.values()), late)


def _under_headings(rows: list[ListRow], now: datetime, after: Place | None) -> list[ListRow]:
    """Due first: what is late, what is due today, the rest. Where nothing is due there is nothing to divide."""
    today = timezone.localdate(now)
    late, soon, later = "Overdue", "Due today", "Later"

    def group(due: datetime | None) -> str:
        if due is None:
            return later
        return late if due < now else soon if timezone.localdate(due) == today else later

    last = group(after[0]) if after else later
    found = []
    for row in rows:
        name = group(row.due_at)
        found.append(replace(row, heading=name) if name != last else row)
        last = name
    return found


def _line_of(found: OfferedItem, shown: ReviewList) -> str:
    return value_of(found.need.task.project, found.need.task.line, several=shown.scope.several)


def _other(found: OfferedItem, shown: ReviewList) -> ListRow:
    """The row of what is no gate."""
    need = found.need
    return ListRow(
        kind=need.kind,
        key=need.id,
        line=need.task.line.name,
        place=need.place if need.place != need.task.line.name else "",
        number=need.task.name,
        project=need.task.project.name or need.task.project.key if shown.scope.several else "",
        title=need.task.title,
        requester=need.task.requested_by,
        url=reverse("need-act", args=[need.kind, need.key]) + shown.suffix,
        verb=found.verbs[0].label if found.verbs else "",
        state=need.status,
        since=need.since,
        at=need.since if shown.sort == OLDEST else order_at(need.due_at, need.since),
        due_at=need.due_at,
        note=need.sentence.text,
        shape=need.shape,
        icon=need.icon,
        tone="danger" if need.status == Status.STUCK else "attention",
    )


def tab_counts(user: User, shown: ReviewList) -> dict[str, str]:
    """How many open reviews two of the lists have in these projects; the others say it by their rows."""
    whole = replace(shown, line="", kind="", gate="", state="", dates=EVER)
    return {tab: capped(how_many(user, replace(whole, tab=tab))) for tab in ("mine", "others")}


def items(
    user: User,
    shown: ReviewList,
    most: int = PAGE,
    after: Place | None = None,
    standings: Standings | None = None,
    found: Sequence[Place] | None = None,
) -> list[ListRow]:
    """The next rows of the list, in its order. `found`: their places, where they are known."""
    standings = standings or Standings(user)
    if found is None:
        found = _places(user, shown, most, after, standings)
    moments = {visit_id: at for at, visit_id in found}
    visits = _read(list(moments), shown.scope.projects)
    away = _stood_in_for(standings, visits) if shown.tab == ASKED else {}
    return [_item(visit, shown, moments[visit.pk], away.get(visit.pk, "")) for visit in visits]


def _stood_in_for(standings: Standings, visits: Sequence[GateVisit]) -> dict[UUID, str]:
    """By visit, in whose place alone this person may decide there."""
    if not any(seat.stands_in for mine in standings.seats.values() for seat in mine):
        return {}
    found = {visit.pk: standings.at(visit).instead_of for visit in visits}
    people = User.objects.in_bulk({pk for pk in found.values() if pk}) if any(found.values()) else {}
    return {visit: str(people[pk]) for visit, pk in found.items() if pk}


def how_many(user: User, shown: ReviewList) -> int:
    """How many rows the list has, counted up to one more than `MOST`."""
    return len(_places(user, shown, MOST + 1, None, Standings(user)))


def _places(
    user: User, shown: ReviewList, most: int, after: Place | None, standings: Standings
) -> list[Place]:
    """Where the rows of the list stand, (when, visit) each; what is asked of SQL does not grow with it."""
    if shown.tab == "done":
        return decided(user, shown.narrowed, most, after)
    if shown.tab == "mine":
        return requested(user, shown.narrowed, most, after)
    if shown.tab == ASKED:
        return asked(user, replace(shown.narrowed, reader=user.pk), most, after, standings.seats)
    return of_team(user, shown.narrowed, most, after)


def _read(ids: Sequence[UUID], projects: Iterable[Project]) -> list[GateVisit]:
    """The visits of these ids, in their order; one that was purged meanwhile is left out. Only what a row shows is
    read: an object of each table for each row costs more than the rest of the list. `projects`: theirs, at least."""
    found, of = {visit.pk: visit for visit in _rows(visits=ids)}, {each.pk: each for each in projects}
    hang(found.values(), "votes", _votes_at(visits=ids) if found else [], "visit_id")
    claimed = {pk for visit in found.values() if (pk := vars(visit).get("claimed_by"))}
    people = User.objects.in_bulk(claimed) if claimed else {}
    for visit in found.values():
        visit.task.project = of[visit.task.project_id]
        visit.claimed = str(people.get(vars(visit).get("claimed_by"), ""))  # type: ignore[attr-defined]
    return [found[each] for each in ids if each in found]


@compiled(visits=array(UUIDField()))
def _rows(visits: Any) -> QuerySet[GateVisit]:
    shown = GateVisit.objects.filter(pk__among=visits).select_related("task", "asked_by", "job").only(*READ)
    return shown.annotate(
        rule=KeyTransform("rule", "evidence"),
        claimed_by=Case(When(claim__until__gt=Now(), then=F("claim__user"))),
        waits=Exists(ReviewQuestion.objects.filter(visit=OuterRef("pk"), answered_at=None)),
    )


@compiled(visits=array(UUIDField()))
def _votes_at(visits: Any) -> QuerySet[Vote]:
    return Vote.objects.filter(visit__among=visits)


def _item(visit: GateVisit, shown: ReviewList, at: datetime, stand_in: str) -> ListRow:
    line = versions.by_id(visit.asked_by.pinned_id)
    rule = getattr(visit, "rule", None) or {}
    is_open = visit.state == GateVisit.State.OPEN
    icon, _key, _variant, tone = LOOKS.get(Word(visit.word), CLOSED) if visit.word else CLOSED
    return ListRow(
        kind="gate",
        key=str(visit.pk),
        line=line.name,
        place=gate_of(line, visit.gate).name,
        number=visit.task.name,
        project=visit.task.project.name or visit.task.project.key if shown.scope.several else "",
        title=visit.task.title,
        requester=visit.task.requested_by,
        url=reverse("gate-visit", args=[visit.pk]) + shown.suffix,
        verb="Review" if is_open else visit.word_display or "Closed",
        state="open" if is_open else visit.word or "closed",
        since=visit.opened_at if is_open else visit.decided_at or visit.opened_at,
        at=at,
        icon="manual" if is_open else icon,
        tone="attention" if is_open else tone,
        due_at=visit.due_at if is_open else None,
        round=visit.round,
        votes=_votes(visit),
        note=by_rule(line, rule["id"]) if rule else "",
        claimed=getattr(visit, "claimed", "") if is_open else "",
        waits_for=visit.task.requested_by if is_open and getattr(visit, "waits", False) else "",
        stand_in=stand_in,
    )


def _votes(visit: GateVisit) -> str:
    policy = gate_at(visit, versions.by_id(visit.asked_by.pinned_id)).approval
    have = sum(vote.word == "approve" for vote in visit.votes.all())
    return approval_words(policy, have)
