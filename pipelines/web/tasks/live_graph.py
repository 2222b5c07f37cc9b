"""The open tasks of a line on its drawing: how many stand at each station and gate, and how many ended. The drawing
(static/editor/shown) is not laid out again when these change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from pipelines.models import Status
from pipelines.queries.board import Board, Column
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.templatetags.gateline import duration
from pipelines.web.lines.marks import PlaceMark, TaskPath, mark_paused
from pipelines.web.tasks.task_path import TONES

STATES = ("active", "attention", "danger")
"""By the worst of what stands at a place."""


def live_path_json_text(line: ParsedLine, board: Board, now: datetime, paused: Collection[str]) -> str:
    """Return the path for the script as the page passes it: marks of the columns that the drawing has a place
    for, and of ends. `paused`: keys of stations."""
    path = TaskPath(ways={})
    columns = {column.key: column for column in board.columns if column.count}
    for station in line.stations:
        mark = _station_mark_or_none(
            columns.get(f"station:{station.key}"), columns.get(f"gate:{station.gate}"), now
        )
        if mark:
            path.places[station.key] = mark
    for gate in line.gates_by_key:
        if column := columns.get(f"gate:{gate}"):
            _add_gate_counts(path, column, _rules_with_gate(line.stations, gate), line, now)
    _add_end_marks(path, line, board)
    mark_paused(path, paused)
    return json.dumps(path.to_dict())


def _station_mark_or_none(here: Column | None, gate: Column | None, now: datetime) -> PlaceMark | None:
    """Return the mark of the station's own work, else of the gate that it has for all of its rules."""
    column = here or gate
    if column is None:
        return None
    mark = _count_mark(column, column.count, now, at_gate=here is None)
    if here and gate:
        # One mark for both: the worse of the two has to be seen
        mark.state = STATES[max(here.worst, gate.worst)]
        gate_suffix = f", {gate.count} at its gate"
        mark.words, mark.ticking = mark.words + gate_suffix, mark.ticking + gate_suffix
        mark.brief = f"{mark.brief} + {gate.count}"
    return mark


def _add_gate_counts(
    path: TaskPath, column: Column, rules: Sequence[str], line: ParsedLine, now: datetime
) -> None:
    """A gate may stand on several rules: each says how many came by it."""
    # All came by it, so that no card has to be counted
    if len(rules) == 1:
        path.gates[rules[0]] = _count_mark(column, column.count, now)
        return
    came = Counter(str(card.token.wait.get("rule") or "") for card in column.cards)
    for rule in rules:
        if came[rule]:
            path.gates[rule] = _count_mark(column, came[rule], now, more=column.hidden_card_count > 0)


def _rules_with_gate(stations: Sequence[Station], gate: str) -> list[str]:
    return [rule.id for station in stations for rule in station.rules if gate in rule.gates]


def _count_mark(
    column: Column, count: int, now: datetime, *, at_gate: bool = False, more: bool = False
) -> PlaceMark:
    # Of a long column only the first cards are read, so there may be more.
    number = {"n": f"{count}+" if more else count}
    template = (
        singular_or_plural("%(n)s at its gate", "%(n)s at its gate", count) if at_gate else "%(n)s here"
    )
    words, state, brief = template % number, STATES[column.worst], str(number["n"])
    if column.oldest is None:
        return PlaceMark(state, words, brief=brief)
    oldest = duration((now - column.oldest).total_seconds())
    ticking = "%(count)s, %(time)s" if count == 1 else "%(count)s, oldest %(time)s"
    return PlaceMark(
        state,
        ticking % {"count": words, "time": oldest},
        column.oldest.isoformat(),
        ticking % {"count": words, "time": "{time}"},
        brief,
    )


def _add_end_marks(path: TaskPath, line: ParsedLine, board: Board) -> None:
    """Mark the end of a kind where the line has one; of several only the list of ended tasks tells which it
    was."""
    for status, count in board.ends.items():
        declared = [end.key for end in line.ends if end.kind == status] or [str(status)]
        # Of several ends of a kind the count of tasks does not say which
        if count and len(declared) == 1:
            state = "ok" if status == Status.COMPLETED else TONES[Status(status)]
            path.places[declared[0]] = PlaceMark(state, f"{count} in 24 h", brief=str(count))
