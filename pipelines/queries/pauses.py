"""Pauses in force over a task or a line, for pages (law §17)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from pipelines.models import Line, Pause
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import station_name


@dataclass(frozen=True)
class PauseView:
    """A pause as a page shows it. `subject`: what is paused, in words; `own`: it is of this page's subject alone."""

    row: Pause
    subject: str
    own: bool


def over_task(rows: Iterable[Pause], line: ParsedLine) -> list[PauseView]:
    """Return the pauses under which a task, or a station of its line, is."""
    return [PauseView(row, _subject(row, line), row.task_id is not None) for row in rows]


def over_line(line: Line, document: ParsedLine | None) -> list[PauseView]:
    """Return the pauses of a line, its stations and its project."""
    rows = Pause.objects.filter(
        Q(line=None) | Q(line=line), project=line.project_id, task=None, ended_at=None
    )
    rows = rows.select_related("by").order_by("since")
    return [PauseView(row, _subject(row, document), row.line_id is not None) for row in rows]


def _subject(row: Pause, line: ParsedLine | None) -> str:
    if row.task_id is not None:
        return "This task"
    if row.line_id is None:
        return "The project"
    if not row.station:
        return "The line"
    return station_name(line, row.station) if line else row.station
