"""The numbers of a line: how long they take over about 1,000 recorded decisions and over 100,000, as a ratio.

    python -m bench.analytics [--decisions 100000] [--tasks 60]

Tasks go through a line of eight stations by the real engine; copies of them with their decisions, events and jobs,
made by SQL, make the number. The server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.backtest import RESULTS, recorded
from tests.soak.kills import prepare

RUNS = 3


def copied(model: Any, changed: dict[str, str | None], joins: str) -> str:
    """Every column of a task's rows for each of its copies, but for the changed ones; None: the database's."""
    names = [f.column for f in model._meta.concrete_fields if changed.get(f.column, "") is not None]
    values = [changed.get(name) or f't."{name}"' for name in names]
    columns = ", ".join(f'"{name}"' for name in names)
    return f"""INSERT INTO {model._meta.db_table} ({columns}) SELECT {", ".join(values)}
        FROM {model._meta.db_table} t JOIN pipelines_task s ON s.id = t.task_id AND s.number < %(step)s
        JOIN pipelines_task c ON c.line_id = s.line_id AND c.number >= %(step)s
                             AND c.number %% %(step)s = s.number {joins}"""


def fill(line: Any, decisions: int, own: int) -> int:
    """How many decisions there are then."""
    from django.db import connection  # noqa: PLC0415  # after `prepare`

    from pipelines.models import Event, Job  # noqa: PLC0415  # after `prepare`
    from tests.backtest import many  # noqa: PLC0415  # after `prepare`

    found = many.copy(line, -(-decisions // own) - 1)
    same = """LEFT JOIN pipelines_decision d ON d.id = t.decision_id
              LEFT JOIN pipelines_decision e ON e.task_id = c.id AND e.cause = d.cause"""
    events = {"id": "gen_random_uuid()", "task_id": "c.id", "decision_id": "e.id"}
    with connection.cursor() as cursor:
        cursor.execute(copied(Event, events, same), {"step": many.STEP})
        cursor.execute(
            copied(Job, {"id": None, "task_id": "c.id"}, "WHERE t.state = 'done'"), {"step": many.STEP}
        )
        cursor.execute("ANALYZE pipelines_event, pipelines_job")
    return found


def seconds(line: Any) -> float:
    """The quickest of some runs, the analysis of never taken rules remembered."""
    from pipelines.queries import analytics  # noqa: PLC0415  # after `prepare`

    took = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        analytics.of_line(line)
        took.append(time.perf_counter() - began)
    return min(took[1:])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=60)
    given, _ = parser.parse_known_args()
    home = Path(tempfile.mkdtemp(prefix="gl-bench-"))
    prepare(home)
    from django.core.management import call_command  # noqa: PLC0415  # after `prepare`
    from django.db import connections  # noqa: PLC0415  # after `prepare`

    from pipelines.models import Decision  # noqa: PLC0415  # after `prepare`
    from tests.factories import make_world  # noqa: PLC0415  # after `prepare`

    call_command("migrate", verbosity=0)
    line = recorded(make_world(), given.tasks, random.Random(1)).line
    line.refresh_from_db()
    own = Decision.objects.count()
    few = seconds(line)
    many = fill(line, given.decisions, own)
    took = seconds(line)
    answer = {
        "cores": os.cpu_count(),
        "few": {"decisions": own, "seconds": round(few, 3)},
        "many": {"decisions": many, "seconds": round(took, 3)},
        "times the decisions": round(many / own, 1),
        "times the seconds": round(took / few, 1),
    }
    text = json.dumps(answer, indent=2)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "analytics.json").write_text(text + "\n")
    print(text)
    connections.close_all()
    shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
