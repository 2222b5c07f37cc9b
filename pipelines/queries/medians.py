"""How long things usually take: medians of the last days, by the database. A bounded number of rows is read."""

from __future__ import annotations

from django.db import connection

from pipelines.queries.unmerged import UNMERGED

DAYS = 7
MOST = 300
"""Of so many tasks that ended last, and so many open ones that came last: what a line has done before is not read."""

# Both by an index; the jobs and visits of each are then found by their task.
LATEST = f"""WITH latest AS MATERIALIZED (
    (SELECT id FROM pipelines_task WHERE line_id = %(line)s AND ended_at IS NOT NULL
     ORDER BY ended_at DESC LIMIT {MOST})
    UNION ALL
    (SELECT id FROM pipelines_task WHERE line_id = %(line)s AND ended_at IS NULL ORDER BY id DESC LIMIT {MOST})
)"""


def of_stations(line_id: int) -> dict[str, float]:
    """Median seconds from start to end of the jobs of each station, over the last days."""
    return _pairs(
        f"""{LATEST} SELECT job.station, percentile_cont(0.5) WITHIN GROUP
                  (ORDER BY EXTRACT(EPOCH FROM job.ended_at - coalesce(job.started_at, job.created_at)))
           FROM latest, LATERAL (
             SELECT * FROM pipelines_job WHERE task_id = latest.id AND purpose = 'station'
               AND ended_at > now() - make_interval(days => %(days)s) OFFSET 0
           ) AS job
           GROUP BY job.station""",
        line_id,
    )


def of_gates(line_id: int) -> dict[str, float]:
    """Median seconds from opening to decision of each gate."""
    return _pairs(
        f"""{LATEST} SELECT visit.gate, percentile_cont(0.5) WITHIN GROUP
                  (ORDER BY EXTRACT(EPOCH FROM visit.decided_at - visit.opened_at))
           FROM latest, LATERAL (
             SELECT * FROM pipelines_gatevisit WHERE task_id = latest.id AND state = 'decided'
               AND decided_at > now() - make_interval(days => %(days)s) OFFSET 0
           ) AS visit
           GROUP BY visit.gate""",
        line_id,
    )


def of_line(line_id: int) -> float | None:
    """Median seconds from start to a completed end with nothing left unmerged; None without one lately."""
    found = _pairs(
        f"""SELECT 'line', percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at))
           FROM (SELECT * FROM pipelines_task WHERE line_id = %(line)s AND ended_at IS NOT NULL
                 ORDER BY ended_at DESC LIMIT {MOST}) AS task
           WHERE status = 'completed' AND ended_at > now() - make_interval(days => %(days)s) AND NOT {UNMERGED}""",
        line_id,
    )
    return found.get("line")


def _pairs(sql: str, line_id: int) -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"line": line_id, "days": DAYS})
        return {key: float(value) for key, value in cursor.fetchall() if value is not None}
