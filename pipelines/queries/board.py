"""The live board of a line: columns in line order, a card for each position of each task that has not ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from pipelines.models import (
    WAITING_FOR_INPUT,
    Line,
    Status,
    Task,
    Token,
)
from pipelines.queries import medians, versions
from pipelines.queries.board_cards import REVIEWED_BY_PEOPLE, Card, displayed_cards
from pipelines.queries.board_places import BoardPlaces, board_places
from pipelines.queries.statements import BY_POSITION
from pipelines.queries.unmerged import unmerged_among
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import gate_name, target_name

PER_COLUMN = 20
"""Cards of a column at first: a screen, and some to scroll to. The page asks for more when it is scrolled."""
ENDED_SHOWN = 12
ENDED_HOURS = 24
ENDED_CARD = ("number", "title", "status", "end", "pinned", "project", "created_at", "ended_at")
WAITING = (*REVIEWED_BY_PEOPLE, WAITING_FOR_INPUT)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the strip and the search field that narrow the board; part of its address."""

    q: str = ""
    show: str = ""  # running | queued | waiting | stuck | late
    requester: str = ""  # "me"
    end: str = ""  # completed | failed | cancelled: of the last column


@dataclass(slots=True)
class Column:
    """`shape`: station, gate or end. `look` names its icon. `worst`: of its cards (BoardPlace)."""

    shape: str
    key: str
    name: str
    look: str
    cards: list[Card] = field(default_factory=list)
    count: int = 0
    median: float | None = None
    oldest: datetime | None = None
    worst: int = 0
    collapsed: bool = False
    stale: bool = False  # only in an earlier version
    paused: bool = False

    @property
    def hidden_card_count(self) -> int:
        return self.count - len(self.cards)


@dataclass(frozen=True, slots=True)
class EndedCard:
    """`word`: the label of its end."""

    task: Task
    word: str
    unmerged: bool = False


@dataclass(slots=True)
class Board:
    """`ends`: how many of the last day ended how, whatever `end` narrows."""

    columns: list[Column]
    counts: dict[str, int]
    median: float | None
    ended: list[EndedCard]
    ended_count: int
    ends: dict[str, int]
    version: int
    filtered: bool
    shown: int

    @property
    def is_empty(self) -> bool:
        return not self.counts["tasks"] and not any(self.ends.values())


def line_board(
    line: Line,
    filters: Filters,
    now: datetime,
    user_id: int | None = None,
    rows: Mapping[str, int] | None = None,
) -> Board:
    """Return the board of a line. `now` is what lateness is measured against; `rows`: how many cards of a column."""
    open_tasks = Task.objects.filter(line=line, ended_at__isnull=True)
    board_places = board_places_of_filtered_tasks(open_tasks, filters, now, user_id, BY_POSITION, rows)
    cards = displayed_cards(board_places, {line.project_id: line.project}, now)
    for card in cards:
        card.task.line = line
    columns = _board_columns(line, board_places, cards)
    return board_of_columns(line, columns, board_places, filters, now, user_id)


def board_of_columns(
    line: Line,
    columns: list[Column],
    board_places: BoardPlaces,
    filters: Filters,
    now: datetime,
    user_id: int | None,
) -> Board:
    """Return the board of a line with these columns, and what ended on it in the last day."""
    ended = Task.objects.filter(line=line, ended_at__gte=now - timedelta(hours=ENDED_HOURS))
    ended = narrow_tasks_by_filters(ended, filters, user_id)
    ends = dict(ended.values_list("status").annotate(Count("pk")).order_by())
    if filters.end:
        ended = ended.filter(status=filters.end)
    newest = list(ended.only(*ENDED_CARD).order_by("-ended_at")[:ENDED_SHOWN])
    # All are of the project of the line: none asks for it by a statement of its own
    for task in newest:
        task.project = line.project
    unmerged = unmerged_among(newest)
    return Board(
        columns,
        board_status_counts(board_places),
        medians.median_seconds_of_line_or_none(line.pk),
        [
            EndedCard(
                task,
                target_name(versions.parsed_line_by_version_id(task.pinned_id), task.end),
                task.pk in unmerged,
            )
            for task in newest
        ],
        ends.get(filters.end, 0) if filters.end else sum(ends.values()),
        ends,
        board_places.version,
        bool(filters.q or filters.show or filters.requester),
        sum(place.count for place in board_places.of.values()),
    )


def board_of_open_tasks(columns: list[Column], board_places: BoardPlaces, filters: Filters) -> Board:
    """Return a board of open tasks alone."""
    return Board(
        columns,
        board_status_counts(board_places),
        None,
        [],
        0,
        {},
        board_places.version,
        bool(filters.q or filters.show or filters.requester),
        sum(place.count for place in board_places.of.values()),
    )


def board_places_of_filtered_tasks(
    open_tasks: QuerySet[Task],
    filters: Filters,
    now: datetime,
    user_id: int | None,
    by: str,
    rows: Mapping[str, int] | None = None,
) -> BoardPlaces:
    tasks, late = narrow_tasks_by_filters(open_tasks, filters, user_id), filters.show == "late"
    return board_places(
        open_tasks,
        tasks,
        now,
        SHOWS.get(filters.show),
        late=late,
        max_per_column=PER_COLUMN,
        rows=rows,
        by=by,
    )


MOST_CHOSEN = 1_000
"""Positions that one command for all that match is given to."""


def first_matching_positions_and_count(
    open_tasks: QuerySet[Task], filters: Filters, now: datetime, user_id: int
) -> tuple[list[Token], int]:
    """Return the first positions that match, with their tasks, and how many there are."""
    tasks, late = narrow_tasks_by_filters(open_tasks, filters, user_id), filters.show == "late"
    matching = board_places(
        open_tasks, tasks, now, SHOWS.get(filters.show), late=late, max_per_column=MOST_CHOSEN, by="'all'"
    )
    token_ids = [token_id for place in matching.of.values() for token_id in place.ids]
    rows = Token.objects.filter(pk__in=token_ids).select_related("task").order_by("pk")
    count = sum(place.count for place in matching.of.values())
    return list(rows.only("task__number", "task__project", "task__line")), count


def narrow_tasks_by_filters(tasks: QuerySet[Task], filters: Filters, user_id: int | None) -> QuerySet[Task]:
    if filters.q:
        # People also type the whole name of a task, such as WI-app-7
        number = filters.q.rpartition("-")[2]
        condition = Q(title__icontains=filters.q)
        # Any number of 18 digits fits a bigint
        if number.isascii() and number.isdigit() and len(number) < 19:
            condition |= Q(number=int(number))
        tasks = tasks.filter(condition)
    return tasks.filter(requester=user_id) if filters.requester == "me" else tasks


def board_status_counts(board_places: BoardPlaces) -> dict[str, int]:
    """Return the counts of tasks, except what is counted by position: a forked task may run and wait at once."""
    by_status = Counter(board_places.by_status)
    return {
        "tasks": board_places.tasks,
        "running": by_status[Status.RUNNING] + by_status[Status.EVALUATING],
        "queued": by_status[Status.QUEUED],
        "review": by_status[Status.AWAITING_REVIEW],
        "input": by_status[WAITING_FOR_INPUT],
        "blocked": by_status[Status.BLOCKED],
        "held": by_status[Status.HELD],
        "waiting": sum(by_status[status] for status in WAITING),
        "stuck": by_status[Status.STUCK],
        "late": board_places.late,
    }


SHOWS = {
    "running": (Status.RUNNING, Status.EVALUATING),
    "queued": (Status.QUEUED,),
    "waiting": WAITING,
    "review": (Status.AWAITING_REVIEW,),
    "input": (WAITING_FOR_INPUT,),
    "blocked": (Status.BLOCKED,),
    "held": (Status.HELD,),
    "stuck": (Status.STUCK,),
}


def _board_columns(line: Line, board_places: BoardPlaces, cards: Sequence[Card]) -> list[Column]:
    columns = (
        {column.key: column for column in line_columns(versions.parsed_line_by_version_id(line.live_id))}
        if line.live_id
        else {}
    )
    for card in cards:
        key = f"gate:{card.gate}" if card.gate else f"station:{card.token.station}"
        # A task of an earlier version may be where the live one has nothing
        if key not in columns:
            columns[key] = _earlier_version_column(
                key, versions.parsed_line_by_version_id(card.task.pinned_id)
            )
        columns[key].cards.append(card)
    usual = {f"station:{key}": value for key, value in medians.median_seconds_by_station(line.pk).items()}
    usual |= {f"gate:{key}": value for key, value in medians.median_seconds_by_gate(line.pk).items()}
    for key, column in columns.items():
        column.median = usual.get(key)
        if key in board_places.of:
            place = board_places.of[key]
            column.count, column.oldest, column.worst = place.count, place.oldest, place.worst
        column.collapsed = not column.count
    return list(columns.values())


def line_columns(parsed: ParsedLine) -> list[Column]:
    """Stations in line order, each gate right after the first station that asks it."""
    columns: dict[str, Column] = {}
    for station in parsed.stations:
        key = f"station:{station.key}"
        columns[key] = Column("station", key, station.name, station.kind)
        rule_gates = [gate for rule in station.rules for gate in rule.gates]
        for gate in [station.gate, *rule_gates] if station.gate else rule_gates:
            if gate in parsed.gates_by_key:
                name, mode = gate_name(parsed, gate), parsed.gates_by_key[gate].mode
                columns.setdefault(f"gate:{gate}", Column("gate", f"gate:{gate}", name, mode))
    return list(columns.values())


def _earlier_version_column(key: str, parsed: ParsedLine) -> Column:
    shape, _, name = key.partition(":")
    if shape == "gate":
        return Column("gate", key, gate_name(parsed, name), "manual", stale=True)
    station = parsed.stations_by_key.get(name)
    look = station.kind if station else "other"
    return Column("station", key, station.name if station else name, look, stale=True)
