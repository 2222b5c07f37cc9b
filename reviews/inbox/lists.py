"""Reviews as lists beside a dossier: those that ask this person, and those of which there is nothing to do now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, Exists, F, Func, IntegerField, OuterRef, QuerySet, UUIDField, Value, When
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from pipelines.engine.moves.gates import approval_policy_of_visit
from pipelines.models import GateVisit, Project, Status, User, Vote, Word
from pipelines.models.plumbing.compiled_queries import array_field as array
from pipelines.models.plumbing.compiled_queries import compiled
from pipelines.models.plumbing.django_internals import set_prefetched
from pipelines.queries import versions
from pipelines.queries.dates import EVER
from pipelines.queries.line_filter import line_filter_value
from pipelines.routing.sentences.names import by_rule_phrase_or_empty
from reviews.decision.consequences import LOOKS
from reviews.decision.entitlements import Entitlements
from reviews.decision.gates import approval_count_text_or_empty
from reviews.decision.review_access import (
    MOST,
    Place,
    due_time_or_after_all_due,
    latest_closed_visits_user_voted_on,
    ordered_open_visits_of_projects,
    ordered_open_visits_user_requested,
    ordered_visits_user_may_decide,
)
from reviews.inbox.item import InboxKind, InboxViewer
from reviews.inbox.kinds import KINDS, OfferedItem, capped_count_text_or_empty, item_with_its_offered_verbs
from reviews.inbox.last_returns import last_return_of_visit, last_return_text_or_empty
from reviews.inbox.list_selection import NEEDS_ME, OLDEST, ReviewList
from reviews.models import ReviewQuestion

PAGE = 25
"""More than a screen; what comes next is fetched as the list is scrolled."""
CLOSED = ("info", "", "", "muted")
"""How a row looks that was closed without a decision, as `decision.consequences.LOOKS` has it for a word."""
READ = ("gate", "state", "word", "round", "producers", "overridden", "opened_at", "due_at", "paused_at", "decided_at",
        "task__project", "task__number", "task__title", "task__requester", "task__requested_by", "task__requesters",
        "asked_by__pinned", "job__reported_by")  # fmt: skip


GIT_FACTS = KeyTransform("git", KeyTransform("facts", "job__outcome"))
COUNTED = ("files_changed", "insertions", "deletions")
SENSITIVE = Func(Value("$.facts.git.sensitive[*]"), template="%(expressions)s::jsonpath")


@dataclass(frozen=True)
class ChangeSize:
    """Size of the change under review, as the server counted it. `sensitive`: files of tests, build and CI, or those
    that the line names."""

    files: int
    added: int
    removed: int
    sensitive: int


@dataclass(frozen=True)
class ListRow:
    """Row of the left pane; `key` marks it in the address. `state`: how the gate visit went, `open` while it
    waits, or the status of what is no gate. `at`: what the list is sorted by. `due_at` is None for what is
    over."""

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
    size: ChangeSize | None = None
    last_return: str = ""
    """Who sent it back last, and why."""

    @property
    def is_over(self) -> bool:
        """Return whether it was decided, or closed."""
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
        """“Sent back by Ann: Count by account”, by what led to this round; else its number."""
        return self.last_return or f"Round {self.round}"

    @property
    def cursor(self) -> str:
        """Names this place in the address of what comes after it."""
        return f"{self.at.isoformat()}~{self.key}"


@dataclass(frozen=True)
class ListPage:
    """Content of the left pane. `kinds`: (kind, how many) of what needs the reader. `more`: where the rest
    begins."""

    rows: Sequence[ListRow]
    more: str = ""
    kinds: Sequence[tuple[InboxKind, str]] = ()
    waiting: int = 0
    late: int = 0

    @property
    def waiting_words(self) -> str:
        return capped_count_text_or_empty(self.waiting)

    @property
    def late_words(self) -> str:
        return capped_count_text_or_empty(self.late)


def next_rows_of_list(
    user: User,
    selection: ReviewList,
    now: datetime,
    after: Place | None = None,
    standings: Entitlements | None = None,
    rows: str = "",
) -> ListPage:
    """The next rows, in a number of statements that does not grow with them. `rows`: how many an address asks for."""
    size = _row_count_rounded_up_to_pages(rows)
    if selection.tab == NEEDS_ME:
        return _page_of_what_needs_user(user, selection, now, after, standings or Entitlements(user), size)
    # One more than is shown tells whether there is another page
    page_items = next_review_rows(user, selection, size + 1, after)
    return ListPage(page_items[:size], page_items[size - 1].cursor if len(page_items) > size else "")


def _row_count_rounded_up_to_pages(rows: str) -> int:
    """Return the number of rows in full pages, so that a list fetched anew has room for all that stands
    there, and for what comes among it."""
    row_count = int(rows) if rows.isascii() and rows.isdigit() and len(rows) < 9 else 0
    # -(-a // b) rounds up
    return min(MOST, max(1, -(-row_count // PAGE)) * PAGE)


def _page_of_what_needs_user(
    user: User, selection: ReviewList, now: datetime, after: Place | None, standings: Entitlements, size: int
) -> ListPage:
    """Return a page of what needs the person: reviews page by page, and among them the few other items."""
    viewer = InboxViewer(user, of=selection.scope.projects)
    kinds = [kind for kind in KINDS if kind.key != "gate" and not selection.only_gates]
    offers = [
        item_with_its_offered_verbs(kind, need, viewer) for kind in kinds for need in kind.query(viewer)
    ]
    lines = [
        offered
        for offered in offers
        if selection.line in ("", _line_value(offered, selection)) and offered.need.since in selection.dates
    ]
    matching = [offered for offered in lines if selection.kind in ("", offered.need.kind)]
    others = [row_of_item_that_is_no_gate(offered, selection) for offered in matching]
    # Due first, as their places say when they are due, whatever the rows are sorted by.
    waiting = _ordered_times_and_visits_of_list(
        user, replace(selection, kind="", sort=""), MOST + 1, None, standings
    )
    gates: list[ListRow] = []
    if selection.kind in ("", "gate"):
        # The first page in this order was just read for the count
        first = waiting[: size + 1] if not selection.sort and after is None else None
        gates = next_review_rows(user, selection, size + 1, after, standings, first)
    ends = gates[size - 1] if len(gates) > size else None
    if after:
        # The page before ended with all that is of its last moment
        others = [row for row in others if row.at > after[0]]
    if ends:
        others = [row for row in others if row.at <= ends.at]
    rows = sorted([*gates[:size], *others], key=lambda row: row.order)
    if not selection.sort:
        rows = _rows_under_due_headings_if_any_due(rows, now, after)
    counts = Counter(offered.need.kind for offered in lines)
    counts["gate"] = len(waiting)
    shown_kinds = [
        (kind, capped_count_text_or_empty(counts[kind.key]))
        for kind in KINDS
        if counts[kind.key] or kind.key == selection.kind
    ]
    late = sum(at < now for at, _visit in waiting) if selection.kind in ("", "gate") else 0
    late += sum(1 for offered in matching if offered.need.due_at and offered.need.due_at < now)
    return ListPage(rows, ends.cursor if ends else "", shown_kinds, sum(counts.values()), late)


def _rows_under_due_headings_if_any_due(
    rows: list[ListRow], now: datetime, after: Place | None
) -> list[ListRow]:
    """Put headings over the rows: overdue, due today, later. A list in which nothing is due has none."""
    today = timezone.localdate(now)
    late, soon, later = "Overdue", "Due today", "Later"

    def heading_of_due_day(due: datetime | None) -> str:
        if due is None:
            return later
        return late if due < now else soon if timezone.localdate(due) == today else later

    last = heading_of_due_day(after[0]) if after else later
    headed = []
    for row in rows:
        name = heading_of_due_day(row.due_at)
        headed.append(replace(row, heading=name) if name != last else row)
        last = name
    return headed


def _line_value(offered: OfferedItem, selection: ReviewList) -> str:
    return line_filter_value(
        offered.need.task.project, offered.need.task.line, several=selection.scope.has_several_projects
    )


def row_of_item_that_is_no_gate(offered: OfferedItem, selection: ReviewList) -> ListRow:
    """The row of what is no gate."""
    need = offered.need
    return ListRow(
        kind=need.kind,
        key=need.id,
        line=need.task.line.name,
        place=need.place if need.place != need.task.line.name else "",
        number=need.task.name,
        project=need.task.project.name or need.task.project.key
        if selection.scope.has_several_projects
        else "",
        title=need.task.title,
        requester=need.task.requested_by,
        url=reverse("need-act", args=[need.kind, need.key]) + selection.suffix,
        verb=offered.verbs[0].label if offered.verbs else "",
        state=need.status,
        since=need.since,
        at=need.since if selection.sort == OLDEST else due_time_or_after_all_due(need.due_at, need.since),
        due_at=need.due_at,
        note=need.note or need.sentence.text,
        shape=need.shape,
        icon=need.icon,
        tone="danger" if need.status == Status.STUCK else "attention",
    )


def capped_count_text_by_tab(user: User, selection: ReviewList) -> dict[str, str]:
    """Return how many open reviews two of the lists have in these projects; the others say it by their rows."""
    unfiltered = replace(selection, line="", kind="", gate="", state="", dates=EVER)
    return {
        tab: capped_count_text_or_empty(row_count_up_to_limit(user, replace(unfiltered, tab=tab)))
        for tab in ("mine", "others")
    }


def next_review_rows(
    user: User,
    selection: ReviewList,
    limit: int = PAGE,
    after: Place | None = None,
    standings: Entitlements | None = None,
    places: Sequence[Place] | None = None,
) -> list[ListRow]:
    """Return the next rows of the list, in its order. `places`: their places, if they are known."""
    standings = standings or Entitlements(user)
    if places is None:
        places = _ordered_times_and_visits_of_list(user, selection, limit, after, standings)
    moments = {visit_id: at for at, visit_id in places}
    visits = _existing_visits_in_order(list(moments), selection.scope.projects)
    away = _absent_person_name_by_visit(standings, visits) if selection.tab == NEEDS_ME else {}
    return [_list_row(visit, selection, moments[visit.pk], away.get(visit.pk, "")) for visit in visits]


def _absent_person_name_by_visit(standings: Entitlements, visits: Sequence[GateVisit]) -> dict[UUID, str]:
    """Return, by visit, in whose place alone this person may decide there."""
    if not any(seat.is_stand_in for person_seats in standings.seats.values() for seat in person_seats):
        return {}
    by_visit = {visit.pk: standings.entitlement_to_visit(visit).absent_person_id for visit in visits}
    people = User.objects.in_bulk({pk for pk in by_visit.values() if pk}) if any(by_visit.values()) else {}
    return {visit: str(people[pk]) for visit, pk in by_visit.items() if pk}


def row_count_up_to_limit(user: User, selection: ReviewList) -> int:
    """Return how many rows the list has, counted up to one more than `MOST`."""
    return len(_ordered_times_and_visits_of_list(user, selection, MOST + 1, None, Entitlements(user)))


def _ordered_times_and_visits_of_list(
    user: User, selection: ReviewList, limit: int, after: Place | None, standings: Entitlements
) -> list[Place]:
    """Return the places of the list's rows, (when, visit) each; the SQL does not grow with it."""
    if selection.tab == "done":
        return latest_closed_visits_user_voted_on(user, selection.to_filter, limit, after)
    if selection.tab == "mine":
        return ordered_open_visits_user_requested(user, selection.to_filter, limit, after)
    if selection.tab == NEEDS_ME:
        return ordered_visits_user_may_decide(
            user, replace(selection.to_filter, reader=user.pk), limit, after, standings.seats
        )
    return ordered_open_visits_of_projects(user, selection.to_filter, limit, after)


def _existing_visits_in_order(ids: Sequence[UUID], projects: Iterable[Project]) -> list[GateVisit]:
    """The visits of these ids, in their order; one that was purged meanwhile is left out. Only what a row shows is
    read: an object of each table for each row costs more than the rest of the list. `projects`: theirs, at least."""
    by_id, of = (
        {visit.pk: visit for visit in _visit_row_query(visits=ids)},
        {project.pk: project for project in projects},
    )
    set_prefetched(by_id.values(), "votes", _votes_of_visits(visits=ids) if by_id else [], "visit_id")
    claimed = {pk for visit in by_id.values() if (pk := vars(visit).get("claimed_by"))}
    people = User.objects.in_bulk(claimed) if claimed else {}
    for visit in by_id.values():
        visit.task.project = of[visit.task.project_id]
        visit.claimed = str(people.get(vars(visit).get("claimed_by"), ""))  # type: ignore[attr-defined]
    return [by_id[visit_id] for visit_id in ids if visit_id in by_id]


@compiled(visits=array(UUIDField()))
def _visit_row_query(visits: Any) -> QuerySet[GateVisit]:
    row_query = (
        GateVisit.objects.filter(pk__among=visits).select_related("task", "asked_by", "job").only(*READ)
    )
    return row_query.annotate(
        rule=KeyTransform("rule", "evidence"),
        claimed_by=Case(When(claim__until__gt=Now(), then=F("claim__user"))),
        returned=last_return_of_visit(),
        waits=Exists(ReviewQuestion.objects.filter(visit=OuterRef("pk"), answered_at=None)),
        **{key: KeyTransform(key, GIT_FACTS) for key in COUNTED},
        # The paths themselves may be thousands.
        sensitive=Func(Func("job__outcome", SENSITIVE, function="jsonb_path_query_array"),
                       function="jsonb_array_length", output_field=IntegerField()),
    )  # fmt: skip


@compiled(visits=array(UUIDField()))
def _votes_of_visits(visits: Any) -> QuerySet[Vote]:
    return Vote.objects.filter(visit__among=visits)


def _list_row(visit: GateVisit, selection: ReviewList, at: datetime, stand_in: str) -> ListRow:
    line = versions.parsed_line_by_version_id(visit.asked_by.pinned_id)
    rule = getattr(visit, "rule", None) or {}
    is_open = visit.state == GateVisit.State.OPEN
    icon, _key, _variant, tone = LOOKS.get(Word(visit.word), CLOSED) if visit.word else CLOSED
    return ListRow(
        kind="gate",
        key=str(visit.pk),
        line=line.name,
        place=line.gate(visit.gate).name,
        number=visit.task.name,
        project=visit.task.project.name or visit.task.project.key
        if selection.scope.has_several_projects
        else "",
        title=visit.task.title,
        requester=visit.task.requested_by,
        url=reverse("gate-visit", args=[visit.pk]) + selection.suffix,
        verb="Review" if is_open else visit.word_display or "Closed",
        state="open" if is_open else visit.word or "closed",
        since=visit.opened_at if is_open else visit.decided_at or visit.opened_at,
        at=at,
        icon="manual" if is_open else icon,
        tone="attention" if is_open else tone,
        due_at=visit.running_due_at if is_open else None,
        round=visit.round,
        votes=_approval_count_text_of_visit(visit),
        note=by_rule_phrase_or_empty(line, rule["id"]) if rule else "",
        claimed=getattr(visit, "claimed", "") if is_open else "",
        waits_for=visit.task.requested_by if is_open and getattr(visit, "waits", False) else "",
        stand_in=stand_in,
        size=_counted_change_size_or_none(visit),
        last_return=last_return_text_or_empty(vars(visit).get("returned")) if is_open else "",
    )


def _counted_change_size_or_none(visit: GateVisit) -> ChangeSize | None:
    """Return what the server counted of the branch under review; None where nothing changed, or nobody counts."""
    counts = [vars(visit).get(key) for key in (*COUNTED, "sensitive")]
    return ChangeSize(*(count if isinstance(count, int) else 0 for count in counts)) if counts[0] else None


def _approval_count_text_of_visit(visit: GateVisit) -> str:
    policy = approval_policy_of_visit(visit, versions.parsed_line_by_version_id(visit.asked_by.pinned_id))
    have = sum(vote.word == "approve" for vote in visit.votes.all())
    return approval_count_text_or_empty(policy, have)
