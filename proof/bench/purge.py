"""How fast the retention of a project deletes, on the tables of `proof.bench.scale`.

    python -m proof.bench.purge [--tasks 100000]

Purges every task that has ended, batch after batch as a worker does, and prints the seconds of the longest batch, the
tasks a second, the processor time a task here and in PostgreSQL, the bytes written ahead a task, and the size of the
tables before, after, and after a vacuum. The yardstick is 20 million additions in a loop of Python."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import timedelta

from proof.bench.index_cost import ask, written_ahead
from proof.bench.reports import of_server
from proof.bench.rig import database, keep
from proof.bench.yardstick import yardstick


def megabytes() -> float:
    [[size]] = ask("SELECT pg_database_size(current_database())")
    return round(int(size) / 2**20, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000)
    tasks = parser.parse_args().tasks
    with database() as home:
        from django.utils import timezone  # noqa: PLC0415  # after `database`

        from pipelines import engine  # noqa: PLC0415  # after `database`
        from pipelines.models import Project, Task  # noqa: PLC0415  # after `database`
        from pipelines.work.expiry import TASKS_AT_ONCE, purge_some_expired_tasks  # noqa: PLC0415
        from proof.bench.scale.data import Size, make  # noqa: PLC0415  # after `database`

        make(Size(tasks, lines=10))
        ask("VACUUM ANALYZE")
        Project.objects.update(record_days=40)
        now, before, written = timezone.now() + timedelta(days=800), megabytes(), written_ahead()
        began, batches = time.perf_counter(), []
        processor = time.process_time() + of_server(home)
        while True:
            start = time.perf_counter()
            if not purge_some_expired_tasks(now):
                break
            batches.append(time.perf_counter() - start)
        seconds = time.perf_counter() - began
        processor = time.process_time() + of_server(home) - processor
        purged = Task.objects.filter(purged_at__isnull=False).count()
        after, written = megabytes(), written_ahead() - written
        ask("VACUUM")
        answer = {
            "purged": purged,
            "a_second": round(purged / seconds),
            "processor_ms_a_task": round(1000 * processor / purged, 2),
            "at_once": TASKS_AT_ONCE,
            "longest_batch_seconds": round(max(batches), 3),
            "median_batch_seconds": round(sorted(batches)[len(batches) // 2], 3),
            "log_bytes_a_task": round(written / purged),
            "megabytes": [before, after, megabytes()],
            "yardstick_seconds": yardstick(),
        }
        assert not engine.purge_records(now, 1).tasks
    keep("purge", answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
