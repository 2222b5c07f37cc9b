"""Places of the living positions of a line, counted by PostgreSQL: how many each column has, and which come
first.

Only what is displayed is read as rows: a line of 10,000 living tasks costs one narrow statement and its
first cards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from pipelines.models import WAITING_FOR_INPUT, Purpose, Status, Task, running_due_at_expression
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.late import expected_seconds_of_running_stations
from pipelines.queries.statements import BOARD_PLACES, BY_POSITION

FOR_PEOPLE = (Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD, WAITING_FOR_INPUT)


@dataclass(slots=True)
class BoardPlace:
    """`ids`: of its first tokens, in the order in which they came. `worst`: 2 where one is stuck, 1 where one waits for
    people or is late."""

    count: int = 0
    oldest: datetime | None = None
    ids: Sequence[int] = ()
    worst: int = 0
    late: int = 0
    by_status: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class BoardPlaces:
    """Places of a board. `of`: by the key of the column. `by_status`, `late`: of everything, whatever is
    displayed. `version` grows with every change of a task."""

    of: dict[str, BoardPlace] = field(default_factory=dict)
    by_status: dict[str, int] = field(default_factory=dict)
    late: int = 0
    tasks: int = 0
    version: int = 0

    def add_positions(
        self, place: str, status: str, late: bool, is_visible: bool, number: int, oldest: datetime
    ) -> None:
        """So many positions of this place and status."""
        self.by_status[status] = self.by_status.get(status, 0) + number
        self.late += number if late else 0
        if is_visible:
            board_place = self.of.setdefault(place, BoardPlace())
            board_place.count += number
            board_place.late += number if late else 0
            board_place.by_status[status] = board_place.by_status.get(status, 0) + number
            board_place.oldest = min(board_place.oldest or oldest, oldest)
            board_place.worst = max(
                board_place.worst, 2 if status == Status.STUCK else int(late or status in FOR_PEOPLE)
            )


def board_places(
    open_tasks: QuerySet[Task],
    tasks: QuerySet[Task],
    now: datetime,
    statuses: Iterable[str] | None,
    *,
    late: bool,
    max_per_column: int,
    rows: Mapping[str, int] | None = None,
    by: str = BY_POSITION,
) -> BoardPlaces:
    """Return the living positions of `tasks`: the first `most` of each column, among those of `statuses` (None: any)
    or, with `late`, among those that are late. `open_tasks`: among which they are, not narrowed; `rows`: of which
    columns another number comes; `by`: what makes a column."""
    # Without their order, which would be sorted for nothing inside of the other statement
    chosen, parameters = (
        tasks.order_by()
        .values_list("pk", "seq", running_due_at_expression(), "pinned_id", "line_id")
        .query.sql_with_params()
    )
    names = {f"of_{number}": value for number, value in enumerate(parameters)}
    sql = BOARD_PLACES.format(
        # Django's statement has its values by position, the one around it by name.
        tasks=chosen % tuple(f"%({name})s" for name in names),
        by=by,
        input=WAITING_FOR_INPUT,
        purpose=Purpose.STATION.value,
        review=Status.AWAITING_REVIEW.value,
        **{name: Status(name).value for name in ("blocked", "stuck", "held", "running")},
    )
    values = {
        **names,
        **_expected_time_columns(open_tasks),
        "now": now,
        "late": late,
        "most": max_per_column,
        "rows": json.dumps(rows or {}),
    }
    values["statuses"] = None if statuses is None else [str(status) for status in statuses]
    board_places = BoardPlaces()
    for place, status, late_ones, is_visible, number, oldest, seq, ids in fetch(sql, values):
        if status is not None:
            board_places.add_positions(place, status, late_ones, is_visible, number, oldest)
            board_places.version += int(seq)
        # Rows without a status: of a place its first positions, and one with the number of tasks.
        elif place is not None:
            board_places.of.setdefault(place, BoardPlace()).ids = ids
        else:
            board_places.tasks = number
    return board_places


def _expected_time_columns(open_tasks: QuerySet[Task]) -> dict[str, list[Any]]:
    """The time that each station of each version expects, as columns."""
    rows = expected_seconds_of_running_stations(open_tasks)
    return {
        "versions": [version for version, _key, _seconds in rows],
        "stations": [key for _version, key, _seconds in rows],
        "seconds": [seconds for _version, _key, seconds in rows],
    }
