"""Open tasks as rows of bars over one stretch of time: the same tasks and filters as on the board."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import DateTimeField, Q, QuerySet

from pipelines.models import GateVisit, Job, Line, Project, Purpose, Task, Token
from pipelines.models.plumbing.compiled_queries import array_field, compiled
from pipelines.queries import versions
from pipelines.queries.board import (
    Board,
    EndedCard,
    Filters,
    board_of_columns,
    board_of_open_tasks,
    board_places_of_filtered_tasks,
)
from pipelines.queries.board_cards import Card, displayed_cards, place_name_of_card
from pipelines.queries.open_work import open_tasks_of
from pipelines.queries.time_bars import TimeBar, bars_by_token_id, job_bars, task_bars, visit_bar, was_stopped
from pipelines.queries.usage import NOTHING, Spending
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import gate_name, station_name

SPANS = {"1h": 1, "6h": 6, "1d": 24, "7d": 7 * 24, "30d": 30 * 24}
"""Hours that an address may choose."""
DEFAULT_HOURS = 24
ALL = "'all'"
"""One place for all positions."""
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class TaskTimeline:
    """Row of one task. `cards`: its displayed positions, none of an ended one. `line_name`: where several lines are
    shown."""

    task: Task
    bars: Sequence[TimeBar]
    cards: Sequence[Card] = ()
    ended: EndedCard | None = None
    line_name: str = ""

    @property
    def lane_count(self) -> int:
        return max((bar.lane for bar in self.bars), default=0) + 1

    @property
    def card(self) -> Card | None:
        """The position whose state is that of the task, else the first."""
        of_state = (card for card in self.cards if card.token.status == self.task.status)
        return next(of_state, None) or next(iter(self.cards), None)

    @property
    def spending(self) -> Spending:
        return self.card.spending if self.card else NOTHING

    @property
    def is_late(self) -> bool:
        return any(card.late for card in self.cards)

    @property
    def seconds_taken_or_none(self) -> float | None:
        """Seconds of a task that has ended."""
        ended_at = self.task.ended_at
        return (ended_at - self.task.created_at).total_seconds() if ended_at else None

    @property
    def place(self) -> str:
        places = ", ".join(dict.fromkeys(card.place for card in self.cards))
        return f"{self.line_name} · {places}" if self.line_name else places


@dataclass(frozen=True, slots=True)
class TaskTimelines:
    """Rows in the order in which they came, the ended ones last. `begin`: of the stretch of time; `end`: now."""

    board: Board
    rows: Sequence[TaskTimeline]
    begin: datetime
    end: datetime

    @property
    def hidden_position_count(self) -> int:
        """Number of positions that are not displayed."""
        return self.board.shown - sum(len(row.cards) for row in self.rows)


def line_timelines(
    line: Line, filters: Filters, now: datetime, user_id: int, hours: int | None = None
) -> TaskTimelines:
    """Return the open tasks of a line, and what ended there in the last day. `hours`: of the stretch of time; None: as
    long as the oldest displayed task is there, at most a day."""
    open_tasks = Task.objects.filter(line=line, ended_at__isnull=True)
    board_places = board_places_of_filtered_tasks(open_tasks, filters, now, user_id, ALL, {"all": MOST_ROWS})
    cards = displayed_cards(board_places, {line.project_id: line.project}, now)
    for card in cards:
        card.task.line, card.place = line, place_name_of_card(card)
    board = board_of_columns(line, [], board_places, filters, now, user_id)
    return _timelines_of_cards(board, cards, now, hours)


def open_timelines(
    projects: Sequence[Project],
    line: str,
    filters: Filters,
    now: datetime,
    user_id: int,
    hours: int | None = None,
) -> TaskTimelines:
    """Return the open tasks of these projects. `line` narrows, as `line_filter` has it; `hours` as above."""
    board_places = board_places_of_filtered_tasks(
        open_tasks_of(projects, line), filters, now, user_id, ALL, {"all": MOST_ROWS}
    )
    cards = displayed_cards(board_places, {project.pk: project for project in projects}, now)
    lines = Line.objects.only("key", "name").in_bulk({card.task.line_id for card in cards})
    for card in cards:
        card.task.line = lines[card.task.line_id]
        card.place = place_name_of_card(card)
    return _timelines_of_cards(
        board_of_open_tasks([], board_places, filters), cards, now, hours, names_lines=True
    )


def _timelines_of_cards(
    board: Board, cards: Sequence[Card], now: datetime, hours: int | None, names_lines: bool = False
) -> TaskTimelines:
    cards_by_task: defaultdict[int, list[Card]] = defaultdict(list)
    for card in cards:
        cards_by_task[card.task.pk].append(card)
    tasks = {card.task.pk: card.task for card in cards} | {card.task.pk: card.task for card in board.ended}
    begin = _begin_of_time_axis([task.created_at for task in tasks.values()], now, hours)
    bars = _bars_by_task_id(tasks, begin)
    open_rows = [
        TaskTimeline(
            tasks[pk], bars.get(pk, ()), of_task, line_name=tasks[pk].line.name if names_lines else ""
        )
        for pk, of_task in cards_by_task.items()
    ]
    ended_rows = [TaskTimeline(card.task, bars.get(card.task.pk, ()), ended=card) for card in board.ended]
    return TaskTimelines(board, [*open_rows, *ended_rows], begin, now)


def _begin_of_time_axis(created: Iterable[datetime], now: datetime, hours: int | None) -> datetime:
    if hours is not None:
        return now - timedelta(hours=hours)
    oldest = min(created, default=now - timedelta(hours=1))
    # Where all is new, a minute is wide enough to see something
    return min(max(oldest, now - timedelta(hours=DEFAULT_HOURS)), now - timedelta(minutes=1))


def _bars_by_task_id(tasks: Mapping[int, Task], since: datetime) -> dict[int, list[TimeBar]]:
    """Return the bars of these tasks that reach into the time since then; three statements, however many tasks."""
    ids = list(tasks)
    if not ids:
        return {}
    tokens: defaultdict[int, list[Token]] = defaultdict(list)
    for token in _tokens_of_tasks(tasks=ids):
        tokens[token.task_id].append(token)
    recorded: list[tuple[int, TimeBar]] = []
    for job in _jobs_since(tasks=ids, since=since):
        line = versions.parsed_line_by_version_id(tasks[job.task_id].pinned_id)
        recorded += [(job.token_id, bar) for bar in job_bars(job, _job_label(line, job))]
    for visit in _visits_since(tasks=ids, since=since):
        line = versions.parsed_line_by_version_id(tasks[visit.task_id].pinned_id)
        recorded.append((visit.token_id, visit_bar(visit, gate_name(line, visit.gate))))
    bars = bars_by_token_id(recorded)
    return {task_id: task_bars(of_task, bars) for task_id, of_task in tokens.items()}


def _job_label(line: ParsedLine, job: Job) -> str:
    name = station_name(line, job.station)
    name = f"{name}, run {job.visit}" if job.visit > 1 else name
    return f"{name}, stopped" if was_stopped(job) else name


@compiled(tasks=array_field())
def _tokens_of_tasks(tasks: Any) -> QuerySet[Token]:
    rows = Token.objects.filter(task__among=tasks).order_by("pk")
    return rows.only("task_id", "parent_id", "status", "ended_at", "wait")


@compiled(tasks=array_field(), since=DateTimeField())
def _jobs_since(tasks: Any, since: Any) -> QuerySet[Job]:
    # By the tokens: an index of all jobs by task would cost each move.
    rows = Job.objects.filter(token__task__among=tasks, purpose=Purpose.STATION)
    rows = rows.filter(Q(ended_at=None) | Q(ended_at__gte=since)).order_by("pk")
    return rows.only(
        "task_id", "token_id", "station", "kind", "visit", "result", "created_at", "started_at", "ended_at"
    )


@compiled(tasks=array_field(), since=DateTimeField())
def _visits_since(tasks: Any, since: Any) -> QuerySet[GateVisit]:
    rows = GateVisit.objects.filter(task__among=tasks)
    rows = rows.filter(Q(decided_at=None) | Q(decided_at__gte=since)).order_by("opened_at")
    return rows.only("task_id", "token_id", "gate", "opened_at", "decided_at")
