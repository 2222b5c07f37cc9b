"""Where the living positions of a line stand, counted by PostgreSQL: how many each column has, and which come first.

Only what is shown is read as rows: a line of 10,000 living tasks costs one narrow statement and its first cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from pipelines.models import WAITING_FOR_INPUT, Line, Purpose, Status, Task
from pipelines.queries import versions

# Texts are compared by their bytes: what is sorted is only told apart.
SQL = """
    WITH tasks(task_id, seq, due_at, pinned_id) AS MATERIALIZED ({tasks}),
    chosen AS MATERIALIZED (
        SELECT t.*, k.seq, k.due_at, k.pinned_id,
          t.status = '{blocked}' AND t.wait ? 'question' AND NOT t.wait ? 'evaluation' AS asks
        FROM tasks k CROSS JOIN LATERAL (
          SELECT id, task_id, station, status, wait, entered_at, changed_at FROM pipelines_token
          WHERE task_id = k.task_id AND ended_at IS NULL AND NOT forked OFFSET 0
        ) AS t
    ),
    living AS MATERIALIZED (
        SELECT t.id, t.task_id, t.seq, t.entered_at,
          CASE WHEN first.gate IS NULL THEN 'station:' || t.station ELSE 'gate:' || first.gate END COLLATE "C" AS place,
          CASE
            WHEN t.asks THEN '{input}'
            WHEN last.kind = 'manual' THEN '{input}'
            ELSE t.status
          END COLLATE "C" AS status,
          coalesce(
            first.opened_at, last.started_at,
            CASE WHEN t.status IN ('{stuck}', '{review}', '{blocked}', '{held}') THEN t.changed_at END,
            t.entered_at
          ) AS since,
          CASE
            WHEN first.due_at IS NOT NULL THEN first.due_at < %(now)s
            WHEN t.due_at < %(now)s THEN true
            ELSE coalesce(
              t.status = '{running}'
              AND extract(epoch FROM %(now)s - coalesce(last.started_at, t.entered_at)) > limits.seconds, false)
          END AS late
        FROM chosen t
        LEFT JOIN unnest(%(versions)s::bigint[], %(stations)s::text[], %(seconds)s::float[])
          AS limits(version, station, seconds) ON limits.version = t.pinned_id AND limits.station = t.station
        LEFT JOIN LATERAL (
          SELECT j.kind, j.started_at FROM pipelines_job j
          WHERE t.status = '{running}' AND j.token_id = t.id AND j.purpose = '{purpose}'
          ORDER BY j.id DESC LIMIT 1
        ) AS last ON true
        LEFT JOIN LATERAL (
          SELECT g.gate, g.opened_at, g.due_at FROM pipelines_gatevisit g
          WHERE t.status = '{review}' AND g.token_id = t.id AND g.state = 'open'
          ORDER BY g.position LIMIT 1
        ) AS first ON true
    )
    SELECT 'place', place, count(*),
      max(CASE WHEN status = '{stuck}' THEN 2
          WHEN late OR status IN ('{review}', '{blocked}', '{held}', '{input}') THEN 1 ELSE 0 END),
      min(since), (array_agg(id ORDER BY entered_at, id))[1:%(most)s]
    FROM living
    WHERE CASE WHEN %(late)s THEN late ELSE %(statuses)s::text[] IS NULL OR status = ANY(%(statuses)s::text[]) END
    GROUP BY place
    UNION ALL
    SELECT 'status', status, count(*), count(*) FILTER (WHERE late), NULL, NULL FROM living GROUP BY status
    UNION ALL
    SELECT 'all', NULL, count(*), coalesce(sum(seq), 0), NULL, NULL
    FROM (SELECT sum(seq) AS seq FROM living GROUP BY task_id) AS of_task
"""


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """`ids`: of its first tokens, in the order in which they came. `worst`: 2 where one is stuck, 1 where one waits for
    people or is late."""

    count: int
    oldest: datetime
    ids: Sequence[int]
    worst: int = 0


@dataclass(slots=True)
class BoardPlaces:
    """`of`: by the key of the column. `by_status`, `late`: of everything, whatever is shown. `version` grows with every
    change of a task."""

    of: dict[str, BoardPlace] = field(default_factory=dict)
    by_status: dict[str, int] = field(default_factory=dict)
    late: int = 0
    tasks: int = 0
    version: int = 0


def places(
    line: Line,
    tasks: QuerySet[Task],
    now: datetime,
    statuses: Iterable[str] | None,
    *,
    late: bool,
    most: int,
) -> BoardPlaces:
    """Of the living positions of these open tasks of the line: the first `most` of each column, among those of
    `statuses` (None: any) or, with `late`, among those that are late."""
    chosen, given = tasks.order_by().values_list("pk", "seq", "due_at", "pinned_id").query.sql_with_params()
    names = {f"of_{number}": value for number, value in enumerate(given)}
    sql = SQL.format(
        tasks=chosen % tuple(f"%({name})s" for name in names),
        input=WAITING_FOR_INPUT,
        purpose=Purpose.STATION.value,
        review=Status.AWAITING_REVIEW.value,
        **{each: Status(each).value for each in ("blocked", "stuck", "held", "running")},
    )
    values = {**names, **_limits(line), "now": now, "late": late, "most": most}
    values["statuses"] = None if statuses is None else [str(each) for each in statuses]
    found = BoardPlaces()
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        for what, key, number, other, oldest, ids in cursor.fetchall():
            if what == "place":
                found.of[key] = BoardPlace(number, oldest, ids, int(other))
            elif what == "status":
                found.by_status[key] = number
                found.late += other
            else:
                found.tasks, found.version = number, int(other)
    return found


def _limits(line: Line) -> dict[str, list[Any]]:
    """The time that each station of each version expects, as columns; only of versions that a living task has."""
    pinned = (
        Task.objects.filter(line=line, ended_at__isnull=True).order_by().values_list("pinned_id", flat=True)
    )
    rows = [
        (version, station.key, station.limits.expected)
        for version in pinned.distinct()
        for station in versions.by_id(version).stations
        if station.limits.expected
    ]
    return {
        "versions": [version for version, _key, _seconds in rows],
        "stations": [key for _version, key, _seconds in rows],
        "seconds": [seconds for _version, _key, seconds in rows],
    }
