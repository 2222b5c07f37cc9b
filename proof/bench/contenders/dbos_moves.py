"""DBOS: a workflow of ten steps that do nothing, each recorded by a commit of its own."""

from __future__ import annotations

import sys
import time

from dbos import DBOS

from proof.bench.contenders.told import tell

STATIONS = 10


@DBOS.step()
def nothing() -> str:
    return "success"


@DBOS.workflow()
def line() -> None:
    for _ in range(STATIONS):
        nothing()


def main(dsn: str, tasks: int, at_once: int) -> None:
    DBOS(
        config={"name": "bench", "system_database_url": dsn, "run_admin_server": False, "log_level": "ERROR"}
    )
    DBOS.launch()
    queue = DBOS.register_queue("bench", worker_concurrency=at_once, polling_interval_sec=0.01)
    line()
    began, cpu = time.perf_counter(), time.process_time()
    for handle in [queue.enqueue(line) for _ in range(tasks)]:
        handle.get_result()
    tell(tasks * STATIONS, time.perf_counter() - began, time.process_time() - cpu)
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
