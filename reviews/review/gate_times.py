"""What the gates of a project cost people and what they catch, of nobody in particular: counted by the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from pipelines.models import Line, Project
from pipelines.ports.sampling import sampling_key
from pipelines.queries.dates import Dates
from pipelines.queries.health import MONTH
from pipelines.queries.unmerged import UNMERGED
from pipelines.queries.versions import by_id
from pipelines.routing.decide.sampling import draw, is_below

MOST = 200
QUICK = 5
"""Seconds."""
UNREMARKED = 200
"""So many approvals without a remark, one after the other, and a gate is offered for sampling."""
LATELY = 90
"""Days of which approvals are counted for that."""
RATES = (2, 5, 10, 20)

# What was landed and later taken back: the branch came to the very tree that it had before.
REVERTED = """
    SELECT DISTINCT done.visit_id
    FROM pipelines_delivery done
    JOIN pipelines_task task ON task.id = done.task_id AND task.project_id = %(project)s
    JOIN pipelines_delivery before ON before.commit = done.base AND before.commit <> ''
        AND before.repository_id = done.repository_id AND before.branch = done.branch AND {before} <> {done}
    JOIN pipelines_delivery later ON {later} = {before} AND later.repository_id = done.repository_id
        AND later.branch = done.branch AND later.landed_at > done.landed_at
    WHERE done.landed_at IS NOT NULL AND before.landed_at IS NOT NULL AND done.visit_id IS NOT NULL""".format(
    **{name: f"coalesce(nullif({name}.landed_tree, ''), {name}.tree)" for name in ("before", "done", "later")}
)

GATES = f"""
    WITH reverted AS ({REVERTED}),
    sat AS (
        SELECT sitting.visit_id, sum(sitting.seconds) AS seconds FROM reviews_sitting sitting
        JOIN pipelines_gatevisit visit ON visit.id = sitting.visit_id
        JOIN pipelines_task task ON task.id = visit.task_id AND task.project_id = %(project)s
        GROUP BY sitting.visit_id
    )
    SELECT task.line_id, visit.gate,
        count(*) FILTER (WHERE visit.word <> ''),
        count(*) FILTER (WHERE visit.word = 'approve'),
        count(*) FILTER (WHERE visit.word IN ('send_back', 'rework')),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM visit.decided_at - visit.opened_at)::float8),
        coalesce(sum(sat.seconds), 0),
        count(*) FILTER (WHERE visit.word = 'approve' AND sat.seconds IS NOT NULL),
        count(*) FILTER (WHERE visit.word = 'approve' AND sat.seconds <= %(quick)s),
        count(*) FILTER (WHERE visit.word = 'approve' AND reverted.visit_id IS NOT NULL)
    FROM pipelines_gatevisit visit
    JOIN pipelines_task task ON task.id = visit.task_id AND task.project_id = %(project)s
    LEFT JOIN sat ON sat.visit_id = visit.id
    LEFT JOIN reverted ON reverted.visit_id = visit.id
    WHERE visit.decided_at >= coalesce(%(since)s, '-infinity'::timestamptz)
      AND visit.decided_at < coalesce(%(until)s, 'infinity'::timestamptz)
    GROUP BY task.line_id, visit.gate
    ORDER BY 7 DESC, 3 DESC, 1, 2 LIMIT {MOST}"""

COMPLETED = f"""
    SELECT line.id, done.n FROM pipelines_line line CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM pipelines_task task WHERE task.line_id = line.id AND task.status = 'completed'
          AND NOT {UNMERGED}
          AND task.ended_at >= coalesce(%(since)s, '-infinity'::timestamptz)
          AND task.ended_at < coalesce(%(until)s, 'infinity'::timestamptz)
    ) AS done
    WHERE line.project_id = %(project)s"""

# Approvals of late since somebody last said anything but “approve”, or wrote a remark or a reason; the newest of them,
# and their tasks.
UNDISPUTED = """
    WITH said AS (
        SELECT task.line_id, visit.gate, visit.id, visit.task_id, visit.decided_at,
            visit.word <> 'approve' OR visit.reason <> ''
            OR EXISTS (SELECT 1 FROM pipelines_vote vote WHERE vote.visit_id = visit.id AND vote.reason <> '')
            OR EXISTS (SELECT 1 FROM reviews_remark remark WHERE remark.visit_id = visit.id) AS disputed
        FROM pipelines_gatevisit visit
        CROSS JOIN LATERAL (
            SELECT line_id FROM pipelines_task WHERE id = visit.task_id AND project_id = %(project)s OFFSET 0
        ) AS task
        WHERE visit.word <> '' AND visit.decided_at > now() - make_interval(days => %(days)s)
    ), since AS (
        SELECT said.*, max(decided_at) FILTER (WHERE disputed) OVER (PARTITION BY line_id, gate) AS last FROM said
    )
    SELECT line_id, gate, count(*),
        (array_agg(id ORDER BY decided_at DESC, id))[1:%(most)s],
        (array_agg(task_id ORDER BY decided_at DESC, id))[1:%(most)s]
    FROM since
    WHERE last IS NULL OR decided_at > last
    GROUP BY line_id, gate HAVING count(*) >= %(most)s ORDER BY 3 DESC, 1, 2 LIMIT 20"""

# Of such visits, each with the first task of its chain: what the draw is about (law §15).
ROOTS = f"""
    WITH RECURSIVE reverted AS ({REVERTED}),
    visits AS (SELECT * FROM unnest(%(visits)s::uuid[], %(tasks)s::bigint[]) AS visit(id, task_id)),
    chain(start, id, follows_id) AS (
        SELECT DISTINCT task.id, task.id, task.follows_id FROM pipelines_task task
        JOIN visits ON visits.task_id = task.id
        UNION SELECT chain.start, before.id, before.follows_id FROM chain CROSS JOIN LATERAL (
            SELECT id, follows_id FROM pipelines_task WHERE id = chain.follows_id OFFSET 0
        ) AS before
    )
    SELECT visits.id, chain.id, reverted.visit_id IS NOT NULL
    FROM visits JOIN chain ON chain.start = visits.task_id AND chain.follows_id IS NULL
    LEFT JOIN reverted ON reverted.visit_id = visits.id"""


@dataclass(frozen=True, slots=True)
class GateTimes:
    """`waiting`: the median from opening to the end, in seconds; `seconds`: in which somebody looked at its reviews;
    `timed`: approvals of which those are known, `quick`: of them, within five seconds; `reverted`: approved changes
    that were landed and later taken back."""

    line: Line
    gate: str
    name: str
    decided: int
    approved: int
    sent_back: int
    waiting: float
    seconds: float
    timed: int
    quick: int
    reverted: int

    @property
    def minutes_each(self) -> float | None:
        """Human minutes per accepted change: of all rounds, by what was approved here with its time known."""
        return self.seconds / 60 / self.timed if self.timed else None


@dataclass(frozen=True, slots=True)
class LineTimes:
    """`completed`: tasks of the line; human minutes of all its gates by them."""

    line: Line
    completed: int
    seconds: float
    gates: Sequence[GateTimes]

    @property
    def minutes_each(self) -> float | None:
        return self.seconds / 60 / self.completed if self.completed else None


@dataclass(frozen=True, slots=True)
class Rate:
    """What one in `one_in` would have asked about, of the newest approvals, and what of the others was taken back."""

    one_in: int
    asked: int
    unseen: int
    reverted: int


@dataclass(frozen=True, slots=True)
class SampleOffer:
    """A gate that was approved `approvals` times without a remark; `rates`: a back-test over the newest of them."""

    line: Line
    gate: str
    name: str
    approvals: int
    rates: Sequence[Rate]


def of_project(project: Project, dates: Dates) -> list[LineTimes]:
    """The dearest line first; without a first day, of the last 28. Three statements, and one for each version that is
    not parsed yet."""
    since, until = dates.bounds
    since = since or timezone.now() - MONTH
    narrowed = {"project": project.pk, "since": since, "until": until, "quick": QUICK}
    rows, completed = _rows(GATES, narrowed), dict(_rows(COMPLETED, narrowed))
    lines = _lines(row[0] for row in rows)
    found: dict[int, list[GateTimes]] = {}
    for line_id, gate, *figures in rows:
        line = lines[line_id]
        found.setdefault(line_id, []).append(GateTimes(line, gate, _name(line, gate), *figures))
    times = [
        LineTimes(lines[pk], completed.get(pk, 0), sum(each.seconds for each in gates), gates)
        for pk, gates in found.items()
    ]
    return sorted(times, key=lambda each: (-each.seconds, each.line.name))


def offers(project: Project) -> list[SampleOffer]:
    """Gates to sample, of what is live: those that always ask, and were only ever approved lately. Three statements."""
    rows = _rows(UNDISPUTED, {"project": project.pk, "most": UNREMARKED, "days": LATELY})
    lines = _lines(row[0] for row in rows)
    asks = [row for row in rows if _always_asks(lines[row[0]], row[1])]
    if not asks:
        return []
    visits, tasks = ([each for row in asks for each in row[place]] for place in (3, 4))
    roots: dict[UUID, list[tuple[int, bool]]] = {}
    for visit, root, reverted in _rows(ROOTS, {"project": project.pk, "visits": visits, "tasks": tasks}):
        roots.setdefault(visit, []).append((root, reverted))
    found = []
    for line_id, gate, approvals, newest, _tasks in asks:
        about = [root for visit in newest for root in roots.get(visit, ())]
        key, name = sampling_key(), f"{line_id}/{gate}"
        draws = [(draw(key, name, str(root)), reverted) for root, reverted in about]
        rates = [_rate(one_in, draws) for one_in in RATES]
        found.append(SampleOffer(lines[line_id], gate, _name(lines[line_id], gate), approvals, rates))
    return found


def _rate(one_in: int, draws: Sequence[tuple[int, bool]]) -> Rate:
    """As the gate would draw with its key (law §15). `draws`: of each approval, and whether it was reverted."""
    unseen = [reverted for each, reverted in draws if not is_below(each, one_in)]
    return Rate(one_in, len(draws) - len(unseen), len(unseen), sum(unseen))


def _always_asks(line: Line, gate: str) -> bool:
    found = by_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
    return found is not None and found.always_asks


def _name(line: Line, gate: str) -> str:
    """Its name in what is live; the key of one that only older versions have."""
    found = by_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
    return found.name if found else gate


def _lines(ids: Any) -> dict[int, Line]:
    return Line.objects.in_bulk(set(ids))


def _rows(sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
