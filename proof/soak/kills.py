"""Kill web, workers and PostgreSQL while tasks are under way, and look at what became of them (house §2, §3).

    python -m proof.soak.kills --tasks 200 --kills 50 --postgres 10 --restarts 20 [--line plain]

The tasks go along a line with everything that can be waited for, and people stand beside it (`people.attend`); or, with
`--line plain`, along commands between stations that do nothing.

Runs on a PostgreSQL of its own that writes to disk, in a temporary folder. Prints one JSON object of counts for each
part; exit code 1 if anything that must hold does not."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from proof.soak.lines import killed, plain

PATIENCE = 900.0
LINES = {"whole-law": killed, "plain": plain}
# Of the longest time that one command takes: the whole law runs three of them one after the other, and waits besides.
LONG = {"whole-law": 0.5, "plain": 1.0}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def prepare(home: Path) -> None:
    """This process and all that it starts use the server of that folder."""
    os.environ.pop("DATABASE_URL", None)
    os.environ |= {
        "GATELINE_HOME": str(home),
        "XDG_STATE_HOME": str(home.parent / f"{home.name}-user"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": os.environ.get("LOG_LEVEL", "WARNING"),
    }
    from config.embedded.server_share import acquire_share  # noqa: PLC0415  # reads the folder's name from the environment

    acquire_share(home, durable=True)
    import django  # noqa: PLC0415  # reads the settings, which read the server's connection

    django.setup()


class Run:
    """One part: a line, its tasks, what is done to the processes meanwhile."""

    def __init__(self, home: Path, workers: int, web: bool, line: str) -> None:
        from proof.soak.fleet import Fleet  # noqa: PLC0415  # see prepare

        self.mark, self.line = f"gl-soak-{uuid.uuid4().hex}", line
        isolations = tuple("none" if index % 2 else "auto" for index in range(workers))
        self.fleet = Fleet(home, isolations, free_port() if web else None)

    def open_line(self) -> None:
        from tests.factories import make_world  # noqa: PLC0415  # see prepare

        self.world = make_world()
        self.version = self.world.line(LINES[self.line](self.mark))
        self.tasks: list[int] = []

    def attend(self) -> None:
        """People do what they are asked for."""
        from proof.soak.people import attend  # noqa: PLC0415  # see prepare

        if self.line != "plain":
            again(lambda: attend(self.world, self.tasks))

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.attend()
            time.sleep(min(left, 0.5))

    def submit(self, count: int, longest: float) -> None:
        for _ in range(count):
            seconds = f"{random.uniform(0.2, longest):.1f}"
            start = partial(self.world.start, self.version, inputs={"seconds": seconds})
            self.tasks.append(again(start).pk)

    def in_flight(self) -> int:
        from pipelines.models import Task  # noqa: PLC0415  # see prepare

        return int(again(lambda: Task.objects.filter(pk__in=self.tasks, ended_at=None).count()))

    def trouble(
        self,
        what: Callable[[], object],
        times: int,
        every: float,
        tasks: int,
        longest: float,
        keep: bool = True,
    ) -> None:
        """`what`, so many times, with that many tasks under way; then until the last task has ended."""
        self.submit(tasks, longest)
        self.fleet.tend()
        self.until(lambda: self.in_flight() < tasks, "no worker started")
        for _ in range(times):
            self.wait(random.uniform(0.3, 1.7) * every)
            self.fleet.tend()
            what()
            if keep and (room := tasks - self.in_flight()) > tasks // 10:
                self.submit(room, longest)
        self.until(lambda: not self.in_flight(), "some tasks never ended")

    def until(self, check: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not check():
            if time.monotonic() > deadline:
                raise SystemExit(f"{complaint}: {self.states()}")
            self.fleet.tend()
            self.attend()
            time.sleep(0.2)

    def states(self) -> list[Any]:
        from pipelines.models import Job  # noqa: PLC0415  # see prepare

        waiting = Job.objects.filter(task__in=self.tasks).exclude(state="done")
        return list(waiting.values_list("task", "station", "state", "attempt")[:20])


def again(work: Callable[[], Any]) -> Any:
    """Through a restart of the server."""
    from django.db import InterfaceError, OperationalError, connection  # noqa: PLC0415  # see prepare

    deadline = time.monotonic() + 60
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError):
            if time.monotonic() > deadline:
                raise
            connection.close()
            time.sleep(0.2)


def at_work(pid: int) -> bool:
    """Whether the worker process holds a job."""
    from pipelines.models import Lease  # noqa: PLC0415  # see prepare

    return bool(again(lambda: Lease.objects.filter(worker__pid=pid, worker__stopped_at=None).exists()))


def noticed_after(tasks: list[int]) -> float:
    """The longest time, in seconds, from a dead worker's last sign of life to its job being taken away."""
    from pipelines.models import Event, Worker  # noqa: PLC0415  # see prepare

    seen = dict(Worker.objects.values_list("pk", "seen_at"))
    # Who holds a job: who started it, or who reported the one before and went straight on.
    holder: dict[int, str] = {}
    longest = 0.0
    for event in Event.objects.filter(task__in=tasks).order_by("task_id", "seq").iterator():
        who, _, key = event.actor.partition(":")
        jobs = [job for job in (event.data.get("job"), *event.data.get("jobs", ())) if job]
        if event.kind == "job.lost":
            last = seen[uuid.UUID(holder[jobs[0]["id"]])]
            longest = max(longest, (event.at - last).total_seconds())
        elif who == "worker":
            holder |= {job["id"]: key for job in jobs if job["state"] == "running"}
    return round(longest, 1)


def verdict(run: Run, within: float) -> tuple[dict[str, Any], list[str]]:
    """What happened, and what should not have."""
    from django.db import connection  # noqa: PLC0415  # see prepare
    from django.db.models import Count, Max  # noqa: PLC0415  # see prepare

    from pipelines.engine import invariants  # noqa: PLC0415  # see prepare
    from pipelines.models import Job, Lease, LogChunk, Task  # noqa: PLC0415  # see prepare
    from proof.soak.fleet import marked  # noqa: PLC0415  # see prepare
    from proof.soak.people import done  # noqa: PLC0415  # see prepare

    tasks = Task.objects.filter(pk__in=run.tasks)
    jobs = Job.objects.filter(task__in=run.tasks)
    lost = jobs.filter(outcome__reason="lease_lost")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT data->'job'->>'id' FROM pipelines_event WHERE kind = 'job.reported'"
            " AND task_id = ANY(%s) GROUP BY 1 HAVING count(*) > 1) twice",
            [run.tasks],
        )
        twice = cursor.fetchone()[0]
    deadline = time.monotonic() + 5
    while (orphans := marked(run.mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    counts = {
        "tasks": tasks.count(),
        "ended": dict(tasks.values_list("status").annotate(Count("pk"))),
        "jobs": jobs.count(),
        **done(run.tasks),
        "attempts lost": sum(job.attempt - 1 for job in jobs.only("attempt")) + lost.count(),
        "most attempts": jobs.aggregate(Max("attempt"))["attempt__max"],
        "ended as lease_lost": lost.count(),
        "longest until noticed, s": noticed_after(run.tasks),
        "reports accepted twice": twice,
        "reports refused by the fence": sum(
            jobs.values_list("ignored__count", flat=True).exclude(ignored=None)
        ),
        "orphaned processes": len(orphans),
        "log chunks": LogChunk.objects.filter(job__in=jobs).count(),
        "starts": {member.name: member.starts for member in run.fleet.members},
    }
    wrong = []
    if tasks.filter(ended_at=None).exists():
        wrong.append("some tasks did not end")
    if counts["longest until noticed, s"] > within:
        wrong.append("a dead worker was noticed too late")
    if twice:
        wrong.append("a report was accepted twice")
    if orphans:
        wrong.append(f"processes outlived their attempts: {orphans}")
    if lost.exclude(attempt=3).exists():
        wrong.append("a job was cancelled before its third attempt")
    if Lease.objects.exists():
        wrong.append("leases are left")
    for job in lost:
        if job.task.events.filter(kind="job.lost", data__job__id=job.pk).count() != 2:
            wrong.append(f"job {job.pk} was given up without three lost attempts")
    failed = tasks.exclude(status="completed").exclude(pk__in=lost.values("task"))
    if failed.exists():
        wrong.append(f"tasks did not complete: {list(failed.values_list('pk', 'status', 'error')[:5])}")
    violations = list(invariants.find_violations())
    counts["violations of invariants"] = len(violations)
    wrong += map(str, violations[:20])
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--postgres", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--every", type=float, default=4.0, help="seconds between two kills, on average")
    parser.add_argument(
        "--noticed", type=float, default=20, help="seconds within which a dead worker is noticed"
    )
    parser.add_argument("--line", choices=list(LINES), default="whole-law")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave nothing running
    home = Path(tempfile.mkdtemp(prefix="gl-soak-"))
    prepare(home)
    from django.core.management import call_command  # noqa: PLC0415  # see prepare

    call_command("migrate", verbosity=0)
    wrong: list[str] = []
    parts: tuple[tuple[str, int, bool, float], ...] = (
        ("killed", given.kills, True, 3.0),
        ("postgres killed", given.postgres, True, 3.0),
        ("planned restarts", given.restarts, False, 8.0),
    )
    for name, times, web, longest in parts:
        if not times:
            continue
        run = Run(home, given.workers, web, given.line)
        run.open_line()
        began = time.monotonic()
        troubles: dict[str, Callable[[], object]] = {
            "killed": run.fleet.kill_one,
            "postgres killed": run.fleet.kill_postgres,
            "planned restarts": partial(run.fleet.restart_one, at_work),
        }
        try:
            run.trouble(troubles[name], times, given.every, given.tasks, longest * LONG[given.line])
            run.fleet.stop()
            counts, faults = verdict(run, given.noticed)
        finally:
            run.fleet.stop()
        if name == "planned restarts" and counts["most attempts"] != 1:
            faults.append("a planned stop counted an attempt")
        counts = {
            "part": name,
            "line": given.line,
            "times": times,
            "seconds": round(time.monotonic() - began),
            **counts,
        }
        print(json.dumps(counts), flush=True)
        wrong += faults
    for fault in wrong:
        print(fault, file=sys.stderr)
    if not given.keep and not wrong:
        from django.db import connections  # noqa: PLC0415  # see prepare

        connections.close_all()
        shutil.rmtree(home, ignore_errors=True)
    else:
        print(f"kept: {home}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
