"""The live board of a line: columns in line order, a card for each position of each task that has not ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from pipelines.models import (
    WAITING_FOR_INPUT,
    GateVisit,
    Job,
    Line,
    Project,
    Status,
    Task,
    Token,
)
from pipelines.queries import log_tails, medians, versions
from pipelines.queries.actors import actor_of
from pipelines.queries.board_places import BoardPlaces, places
from pipelines.queries.board_rows import approvals_of, jobs_at, open_visits_at, positions_of
from pipelines.queries.failure_causes import errors
from pipelines.queries.join_waits import join_sentences
from pipelines.queries.unanswered_questions import unanswered_sentences
from pipelines.queries.unmerged import unmerged_among
from pipelines.queries.usage import NOTHING, Spending, of_tasks
from pipelines.routing.decide.approval import with_extra_votes
from pipelines.routing.document.kinds import may_cost
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.sentences.names import gate_name, target_name
from pipelines.routing.sentences.waits import Sentence, wait_sentence

PER_COLUMN = 40
ENDED_SHOWN = 12
ENDED_HOURS = 24
ENDED_CARD = ("number", "title", "status", "end", "pinned", "project", "ended_at")
REVIEWED_BY_PEOPLE = (Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD)
WAITING = (*REVIEWED_BY_PEOPLE, WAITING_FOR_INPUT)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the strip and the search field that narrow the board; part of its address."""

    q: str = ""
    show: str = ""  # running | queued | waiting | stuck | late
    requester: str = ""  # "me"
    end: str = ""  # completed | failed | cancelled: of the last column


@dataclass(slots=True)
class Card:
    """Card of one position of one task. `since` is when its present state began, `expected` seconds."""

    task: Task
    token: Token
    status: str
    since: datetime
    expected: float | None
    run: int = 1
    attempt: int = 1
    job: Job | None = None
    actor: str = ""
    actor_kind: str = "system"
    line: str = ""  # last line of the log
    left: int | None = None  # retries
    sentence: Sentence | None = None
    gate: str = ""
    visit: GateVisit | None = None
    votes: int = 0
    needed: int = 1
    due: datetime | None = None
    late: bool = False
    paused: bool = False
    branches: tuple[int, int] | None = None  # alive, all
    elapsed: float = 0  # seconds since `since`
    spending: Spending = NOTHING  # of the whole task, where a station of its version may cost

    @property
    def manual(self) -> bool:
        return is_manual_work(self.token, self.job)

    @property
    def runs(self) -> bool:
        """Somebody is at work, a worker or a person."""
        return self.token.status == Status.RUNNING

    @property
    def movable(self) -> bool:
        """It may be moved by hand: nothing has to be resolved first, and it waits for no sibling (law §17)."""
        return "paused_by" not in self.token.wait and not self.token.waits_at_join

    @property
    def key(self) -> str:
        return f"{self.task.name}.{self.token.pk}"


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
    def more(self) -> int:
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
    def empty(self) -> bool:
        return not self.counts["tasks"] and not any(self.ends.values())


def board(line: Line, filters: Filters, now: datetime, user_id: int | None = None) -> Board:
    """`now` is what lateness is measured against."""
    tasks = _narrow(Task.objects.filter(line=line, ended_at__isnull=True), filters, user_id)
    late, statuses = filters.show == "late", SHOWS.get(filters.show)
    board_places = places(line, tasks, now, statuses, late=late, most=PER_COLUMN)
    cards = _cards(_tokens(board_places, line.project), now)
    columns = _columns(line, board_places, cards)
    _complete_cards(columns)
    ended = Task.objects.filter(line=line, ended_at__gte=now - timedelta(hours=ENDED_HOURS))
    ended = _narrow(ended, filters, user_id)
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
        _counts(board_places),
        medians.of_line(line.pk),
        [
            EndedCard(task, target_name(versions.by_id(task.pinned_id), task.end), task.pk in unmerged)
            for task in newest
        ],
        ends.get(filters.end, 0) if filters.end else sum(ends.values()),
        ends,
        board_places.version,
        bool(filters.q or filters.show or filters.requester),
        sum(place.count for place in board_places.of.values()),
    )


def _narrow(tasks: QuerySet[Task], filters: Filters, user_id: int | None) -> QuerySet[Task]:
    if filters.q:
        # People also type the whole name of a task, such as WI-app-7
        number = filters.q.rpartition("-")[2]
        condition = Q(title__icontains=filters.q)
        # Any number of 18 digits fits a bigint
        if number.isascii() and number.isdigit() and len(number) < 19:
            condition |= Q(number=int(number))
        tasks = tasks.filter(condition)
    return tasks.filter(requester=user_id) if filters.requester == "me" else tasks


def _tokens(board_places: BoardPlaces, project: Project) -> list[Token]:
    """Return the tokens that are displayed, in the order in which they came."""
    tokens = [token_id for place in board_places.of.values() for token_id in place.ids]
    positions = positions_of(tokens=tokens)
    for token in positions:
        token.task.project = project
    return positions


def _cards(tokens: Sequence[Token], now: datetime) -> list[Card]:
    jobs = _last_jobs(token.pk for token in tokens)
    visits = _open_visits(token for token in tokens if token.status == Status.AWAITING_REVIEW)
    branches, joined = _branch_counts(tokens), join_sentences(tokens)
    cards = [_card(token, jobs.get(token.pk), visits.get(token.pk, []), branches, now) for token in tokens]
    spent, lacking = _spending(tokens), unanswered_sentences(tokens[0].task.project, tokens) if tokens else {}
    for card in cards:
        card.sentence = joined.get(card.token.pk) or lacking.get(card.token.pk, card.sentence)
        card.spending = spent.get(card.task.pk, NOTHING)
    return cards


def _spending(tokens: Sequence[Token]) -> dict[int, Spending]:
    """Asked only where a station may cost: outcomes are large."""
    pinned = {token.task.pinned_id for token in tokens}
    costly = {version_id for version_id in pinned if any(map(may_cost, versions.by_id(version_id).stations))}
    tasks = {token.task_id for token in tokens if token.task.pinned_id in costly}
    return of_tasks(tasks) if tasks else {}


def _last_jobs(token_ids: Iterable[int]) -> dict[int, Job]:
    return {job.token_id: job for job in jobs_at(tokens=list(token_ids))}


def _open_visits(tokens: Iterable[Token]) -> dict[int, list[GateVisit]]:
    token_ids = [token.pk for token in tokens]
    visits_by_token: defaultdict[int, list[GateVisit]] = defaultdict(list)
    for visit in open_visits_at(tokens=token_ids) if token_ids else ():
        visits_by_token[visit.token_id].append(visit)
    return visits_by_token


def _branch_counts(tokens: Sequence[Token]) -> dict[int, tuple[int, int]]:
    parents = {token.parent_id for token in tokens if token.parent_id}
    if not parents:
        return {}
    alive_by_parent: defaultdict[int, list[bool]] = defaultdict(list)
    children = Token.objects.filter(parent__in=parents, joined=None)
    for parent, ended in children.values_list("parent_id", "ended_at"):
        alive_by_parent[parent].append(ended is None)
    return {parent: (sum(alive), len(alive)) for parent, alive in alive_by_parent.items()}


def _card(
    token: Token,
    job: Job | None,
    visits: list[GateVisit],
    branches: dict[int, tuple[int, int]],
    now: datetime,
) -> Card:
    parsed = versions.by_id(token.task.pinned_id)
    station = parsed.stations_by_key.get(token.station)
    status = WAITING_FOR_INPUT if token.asks_question or is_manual_work(token, job) else token.status
    card = Card(token.task, token, status, _since(token, job), _expected(station), job=job)
    card.run = job.visit if job else 1
    card.attempt = job.attempt if job else 1
    card.actor_kind, card.actor = actor_of(station)
    card.sentence = wait_sentence(token, parsed, job.summary if job else "")
    card.branches = branches.get(token.parent_id or 0)
    if visits:
        _fill_gate_fields(card, visits, parsed)
    card.elapsed = (now - card.since).total_seconds()
    card.late = _late(card, now)
    return card


def is_manual_work(token: Token, job: Job | None) -> bool:
    """Return whether a person is doing the work of this position."""
    return job is not None and job.kind == "manual" and token.status == Status.RUNNING


def _since(token: Token, job: Job | None) -> datetime:
    if token.status == Status.RUNNING and job and job.started_at:
        return job.started_at
    return token.changed_at if token.status in (Status.STUCK, *REVIEWED_BY_PEOPLE) else token.entered_at


def _expected(station: Station | None) -> float | None:
    return station.limits.expected if station else None


def _fill_gate_fields(card: Card, visits: list[GateVisit], parsed: ParsedLine) -> None:
    first = visits[0]
    gate = parsed.gates_by_key.get(first.gate)
    card.gate, card.visit, card.due = first.gate, first, first.running_due_at
    card.since = first.opened_at
    card.needed = with_extra_votes(gate.approval, first.producers).min_votes if gate else 1
    card.expected = (card.due - first.opened_at).total_seconds() if card.due else None


def _late(card: Card, now: datetime) -> bool:
    if card.due:
        return now > card.due
    if card.task.running_due_at and now > card.task.running_due_at:
        return True
    return bool(card.runs and card.expected and card.elapsed > card.expected)


def _counts(board_places: BoardPlaces) -> dict[str, int]:
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


def _columns(line: Line, board_places: BoardPlaces, cards: Sequence[Card]) -> list[Column]:
    columns = (
        {column.key: column for column in line_columns(versions.by_id(line.live_id))} if line.live_id else {}
    )
    for card in cards:
        key = f"gate:{card.gate}" if card.gate else f"station:{card.token.station}"
        # A task of an earlier version may be where the live one has nothing
        if key not in columns:
            columns[key] = _of_earlier(key, versions.by_id(card.task.pinned_id))
        columns[key].cards.append(card)
    usual = {f"station:{key}": value for key, value in medians.of_stations(line.pk).items()}
    usual |= {f"gate:{key}": value for key, value in medians.of_gates(line.pk).items()}
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


def _of_earlier(key: str, parsed: ParsedLine) -> Column:
    shape, _, name = key.partition(":")
    if shape == "gate":
        return Column("gate", key, gate_name(parsed, name), "manual", stale=True)
    station = parsed.stations_by_key.get(name)
    look = station.kind if station else "other"
    return Column("station", key, station.name if station else name, look, stale=True)


def _complete_cards(columns: Sequence[Column]) -> None:
    """Fill in the parts of the cards that are read once for all columns: last log lines, errors, approvals,
    retries left."""
    cards = [card for column in columns for card in column.cards]
    lines = log_tails.last_lines(
        [card.job.pk for card in cards if card.job and card.status == Status.RUNNING]
    )
    # At once for all columns: the statements do not grow with the cards
    lines |= errors(card.job for card in cards if card.job and card.status == Status.STUCK)
    votes = Counter(approvals_of(visits=[card.visit.pk for card in cards if card.visit]))
    for card in cards:
        card.line = lines.get(card.job.pk, "") if card.job else ""
        card.left = _retries_left(card)
        card.votes = votes[card.visit.pk] if card.visit else 0


def _retries_left(card: Card) -> int | None:
    """Return the retries left to the rule that sends a task back to its own station; None where there is no
    such limit."""
    parsed = versions.by_id(card.task.pinned_id)
    station = parsed.stations_by_key.get(card.token.station)
    if station is None:
        return None
    limits = [(rule.max_retries, rule.id) for rule in station.rules if station.key in rule.to]
    left = [most - card.task.rules.get(rule_id, 0) for most, rule_id in limits if most is not None]
    return max(0, min(left)) if left else None
