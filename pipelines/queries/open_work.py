"""Open work over all lines: a board by state, and a table of lines with what runs, waits, is stuck, late and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from pipelines.models import Line, Pause, Project, Status, Task
from pipelines.queries import usage
from pipelines.queries.board import (
    WAITING,
    Board,
    Column,
    Filters,
    board_of_open_tasks,
    board_places_of_filtered_tasks,
    displayed_cards,
)
from pipelines.queries.board_cards import place_name_of_card
from pipelines.queries.board_places import BoardPlace
from pipelines.queries.line_filter import line_condition
from pipelines.queries.pauses import mark_paused
from pipelines.queries.statements import BY_LINE, BY_STATE
from pipelines.queries.usage import NOTHING, Spending

STATES = (
    ("queued", "Queued", "status-queued"),
    ("running", "Running", "status-running"),
    ("waiting", "Waiting for people", "actor-person"),
    ("stuck", "Stuck", "status-stuck"),
)
"""Columns with their icons, in the order in which work goes through them; keys as `BY_STATE` makes them."""


@dataclass(frozen=True, slots=True)
class LineWork:
    """Open work of one line. `spending`: of its open tasks so far."""

    line: Line
    place: BoardPlace
    spending: Spending = NOTHING

    @property
    def running_count(self) -> int:
        return self._count_of_statuses(Status.RUNNING, Status.EVALUATING)

    @property
    def queued_count(self) -> int:
        return self._count_of_statuses(Status.QUEUED)

    @property
    def waiting_count(self) -> int:
        return self._count_of_statuses(*WAITING)

    @property
    def stuck_count(self) -> int:
        return self._count_of_statuses(Status.STUCK)

    def _count_of_statuses(self, *statuses: str) -> int:
        return sum(self.place.by_status.get(status, 0) for status in statuses)


def board_by_state(
    projects: Sequence[Project],
    line: str,
    filters: Filters,
    now: datetime,
    user_id: int,
    rows: Mapping[str, int] | None = None,
) -> Board:
    """Return the open positions of these projects in columns by state. `line` narrows, as `line_filter` has it;
    `rows`: how many cards of a column."""
    board_places = board_places_of_filtered_tasks(
        open_tasks_of(projects, line), filters, now, user_id, BY_STATE, rows
    )
    by_id = {project.pk: project for project in projects}
    cards = displayed_cards(board_places, by_id, now)
    lines = Line.objects.only("key", "name").in_bulk({card.task.line_id for card in cards})
    columns = {key: Column("state", key, name, look) for key, name, look in STATES}
    for card in cards:
        card.task.line = lines[card.task.line_id]
        card.place = f"{card.task.line.name} · {place_name_of_card(card)}"
    by_token = {card.token.pk: card for card in cards}
    for key, place in board_places.of.items():
        column = columns[key]
        # Between the statements a position may have moved on
        column.cards = [by_token[token_id] for token_id in place.ids if token_id in by_token]
        column.count, column.oldest, column.worst = place.count, place.oldest, place.worst
    pauses = Pause.objects.filter(project__in=by_id, ended_at=None)
    mark_paused(columns.values(), list(pauses))
    return board_of_open_tasks(list(columns.values()), board_places, filters)


def board_and_line_work(
    projects: Sequence[Project], line: str, filters: Filters, now: datetime, user_id: int
) -> tuple[Board, list[LineWork]]:
    """Return the lines with open work, those with stuck tasks first, then the busiest; the board has the counts."""
    open_tasks = open_tasks_of(projects, line)
    board_places = board_places_of_filtered_tasks(open_tasks, filters, now, user_id, BY_LINE)
    by_id = {project.pk: project for project in projects}
    lines = Line.objects.only("key", "name", "project").in_bulk([int(key) for key in board_places.of])
    spent = usage.spending_of_open_tasks_by_line(list(by_id))
    rows = []
    for key, place in board_places.of.items():
        row = lines[int(key)]
        row.project = by_id[row.project_id]
        rows.append(LineWork(row, place, spent.get(row.pk, NOTHING)))
    # What is stuck waits for somebody; what is only much goes on by itself
    rows.sort(key=lambda work: (-work.stuck_count, -work.place.count, work.line.name))
    return board_of_open_tasks([], board_places, filters), rows


def open_tasks_of(projects: Sequence[Project], line: str) -> QuerySet[Task]:
    # An array: with `IN` and no project there would be no statement to put into another
    project_ids = [project.pk for project in projects]
    return Task.objects.filter(line_condition(line), project__among=project_ids, ended_at__isnull=True)
