"""The numbers of a line: how long they take over about 1,000 recorded decisions and over 100,000, as a ratio.

    python -m proof.bench.analytics [--decisions 100000] [--tasks 60]

Tasks go through a line of eight stations by the real engine; copies of them with their decisions, events and jobs,
made by SQL, make the number. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import Any

from proof.bench.backtest import recorded
from proof.bench.rig import database, keep

RUNS = 3


COPIES = """FROM {table} t JOIN pipelines_task s ON s.id = t.task_id AND s.number < %(step)s
        JOIN pipelines_task c ON c.line_id = s.line_id AND c.number >= %(step)s
                             AND c.number %% %(step)s = s.number """
"""The rows of tasks, once for each copy of the task."""


def fill(line: Any, decisions: int, own: int) -> int:
    """How many decisions there are then."""
    from django.db import connection  # noqa: PLC0415  # after `database`

    from pipelines.models import Event, Job  # noqa: PLC0415  # after `database`
    from tests.backtest import many  # noqa: PLC0415  # after `database`

    found = many.copy(line, -(-decisions // own) - 1)
    same = """LEFT JOIN pipelines_decision d ON d.id = t.decision_id
              LEFT JOIN pipelines_decision e ON e.task_id = c.id AND e.cause = d.cause"""
    events = {"id": "gen_random_uuid()", "task_id": "c.id", "decision_id": "e.id"}
    with connection.cursor() as cursor:
        for model, changed, more in (
            (Event, events, same),
            (Job, {"id": None, "task_id": "c.id"}, "WHERE t.state = 'done'"),
        ):
            source = COPIES.format(table=model._meta.db_table) + more
            cursor.execute(many.insertion(model, changed, source), {"step": many.STEP})
        cursor.execute("ANALYZE pipelines_event, pipelines_job")
    return found


def seconds(line: Any) -> float:
    """The quickest of some runs, the analysis of never taken rules remembered."""
    from pipelines.queries import analytics  # noqa: PLC0415  # after `database`

    took = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        analytics.line_insights_or_none(line)
        took.append(time.perf_counter() - began)
    return min(took[1:])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=60)
    given, _ = parser.parse_known_args()
    with database():
        from pipelines.models import Decision  # noqa: PLC0415  # after `database`
        from tests.factories import make_world  # noqa: PLC0415  # after `database`

        line = recorded(make_world(), given.tasks, random.Random(1)).line
        line.refresh_from_db()
        own = Decision.objects.count()
        few = seconds(line)
        many = fill(line, given.decisions, own)
        took = seconds(line)
    answer = {
        "few": {"decisions": own, "seconds": round(few, 3)},
        "many": {"decisions": many, "seconds": round(took, 3)},
        "times the decisions": round(many / own, 1),
        "times the seconds": round(took / few, 1),
    }
    keep("analytics", answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
