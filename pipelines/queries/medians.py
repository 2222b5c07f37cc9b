"""How long things usually take: medians of the last days, by the database."""

from __future__ import annotations

from django.db import connection

DAYS = 7


def of_stations(line_id: int) -> dict[str, float]:
    """Median seconds from start to end of the jobs of each station, over the last days."""
    return _pairs(
        """SELECT job.station, percentile_cont(0.5) WITHIN GROUP
                  (ORDER BY EXTRACT(EPOCH FROM job.ended_at - coalesce(job.started_at, job.created_at)))
           FROM pipelines_job job JOIN pipelines_task task ON task.id = job.task_id
           WHERE task.line_id = %s AND job.ended_at > now() - make_interval(days => %s)
             AND job.purpose = 'station'
           GROUP BY job.station""",
        line_id,
    )


def of_gates(line_id: int) -> dict[str, float]:
    """Median seconds from opening to decision of each gate."""
    return _pairs(
        """SELECT visit.gate, percentile_cont(0.5) WITHIN GROUP
                  (ORDER BY EXTRACT(EPOCH FROM visit.decided_at - visit.opened_at))
           FROM pipelines_gatevisit visit JOIN pipelines_task task ON task.id = visit.task_id
           WHERE task.line_id = %s AND visit.state = 'decided'
             AND visit.decided_at > now() - make_interval(days => %s)
           GROUP BY visit.gate""",
        line_id,
    )


def of_line(line_id: int) -> float | None:
    """Median seconds from start to a completed end; None when nothing was completed lately."""
    found = _pairs(
        """SELECT 'line', percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at))
           FROM pipelines_task WHERE line_id = %s AND status = 'completed'
             AND ended_at > now() - make_interval(days => %s)""",
        line_id,
    )
    return found.get("line")


def _pairs(sql: str, line_id: int) -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [line_id, DAYS])
        return {key: float(value) for key, value in cursor.fetchall() if value is not None}
