"""What a line did in the last days, in four figures; one statement, which reads a bounded number of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db import connection

from pipelines.queries.medians import DAYS, MOST
from pipelines.queries.unmerged import UNMERGED
from pipelines.queries.usage import COST, USAGE, dollars


@dataclass(frozen=True, slots=True)
class Lately:
    """`ended`: at most MOST are counted, `more` says whether there are others. Of what is counted, how many completed,
    and of those the median time in seconds and the median cost (None where none had a price)."""

    ended: int
    more: bool
    completed: int
    seconds: float | None
    cost: Decimal | None

    @property
    def amount(self) -> str:
        return dollars(self.cost) if self.cost is not None else ""


# By the index task_ended; the jobs of each task by its tokens: an index of jobs by task has those of stations alone.
FIGURES = f"""
WITH latest AS MATERIALIZED (
    SELECT id, pinned_id, status, created_at, ended_at FROM pipelines_task
    WHERE line_id = %(line)s AND ended_at > now() - make_interval(days => %(days)s)
    ORDER BY ended_at DESC LIMIT %(most)s + 1
), counted AS (SELECT * FROM latest ORDER BY ended_at DESC LIMIT %(most)s)
SELECT (SELECT count(*) FROM latest), count(*),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(EPOCH FROM ended_at - created_at)),
       percentile_disc(0.5) WITHIN GROUP (ORDER BY spent.cost)
FROM counted task, LATERAL (
    SELECT sum({COST}) AS cost FROM pipelines_token token JOIN pipelines_job job ON job.token_id = token.id
    WHERE token.task_id = task.id AND {USAGE} IS NOT NULL
) AS spent
WHERE status = 'completed' AND NOT {UNMERGED}"""


def of_line(line_id: int) -> Lately:
    with connection.cursor() as cursor:
        cursor.execute(FIGURES, {"line": line_id, "days": DAYS, "most": MOST})
        ended, completed, seconds, cost = cursor.fetchone()
    return Lately(
        min(ended, MOST), ended > MOST, completed, None if seconds is None else float(seconds), cost
    )
