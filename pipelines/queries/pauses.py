"""Pauses in force over a task, a line or a project, for pages (law §17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from pipelines.models import Pause, Project
from pipelines.queries.board import Column
from pipelines.queries.board_cards import Card
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import station_name


@dataclass(frozen=True)
class PauseView:
    """A pause as a page shows it. `subject`: what is paused, in words; `own`: the page's subject, or a part of it, so
    that it is resumed there."""

    row: Pause
    subject: str
    own: bool


def pause_views_of_task(rows: Iterable[Pause], line: ParsedLine) -> list[PauseView]:
    """Return the pauses under which a task, or a station of its line, is."""
    return [PauseView(row, _paused_subject(row, line), row.task_id is not None) for row in rows]


def pause_views_of_line(rows: Iterable[Pause], line: ParsedLine | None) -> list[PauseView]:
    """Return the pauses of a line, its stations and its project, of all that are in force on it."""
    return [
        PauseView(row, _paused_subject(row, line), row.line_id is not None)
        for row in rows
        if row.task_id is None
    ]


def pause_views_of_project(project: Project) -> list[PauseView]:
    rows = project.pauses.filter(line=None, task=None, ended_at=None).select_related("by")
    return [PauseView(row, "The project", True) for row in rows]


def line_is_paused_condition() -> Exists:
    """Return whether a line, or the project of it, is paused as a whole."""
    scope = Q(line=OuterRef("pk")) | Q(line=None, project=OuterRef("project"))
    return Exists(Pause.objects.filter(scope, task=None, station="", ended_at=None))


def paused_stations(rows: Iterable[Pause]) -> set[str]:
    """Return the keys of the stations that are paused by themselves."""
    return {row.station for row in rows if row.station}


def mark_paused(columns: Iterable[Column], rows: Sequence[Pause]) -> None:
    """Mark the cards that are under one of these pauses, and the columns of paused stations."""
    stations = paused_stations(rows)
    for column in columns:
        column.paused = column.shape == "station" and column.key.partition(":")[2] in stations
        for card in column.cards:
            card.paused = any(_pause_covers_card(row, card) for row in rows)


def _pause_covers_card(row: Pause, card: Card) -> bool:
    return (
        row.project_id == card.task.project_id
        and row.line_id in (None, card.task.line_id)
        and row.task_id in (None, card.task.pk)
        and row.station in ("", card.token.station)
    )


def _paused_subject(row: Pause, line: ParsedLine | None) -> str:
    if row.task_id is not None:
        return "This task"
    if row.line_id is None:
        return "The project"
    if not row.station:
        return "The line"
    return station_name(line, row.station) if line else row.station
