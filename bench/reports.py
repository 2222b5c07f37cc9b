"""Moves per second where every station is a report over HTTP: programs hold a connection each to one web process, claim
the first job of a task as a runner, report it, and go straight on with the next that the answer brings.

    python -m bench.reports [--tasks 50] [--clients 8]

Beside it: milliseconds of the processor a move that the web process took, and all processes of PostgreSQL. What the
programs take is theirs, but they run on the same machine. The server is one of its own, writing to disk, in a temporary
folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from bench.moves import STATIONS, cpu_of
from bench.rig import Json, database, keep
from tests.soak.fleet import Fleet
from tests.soak.kills import free_port

FACTS: Json = {"protocol": 2, "name": "bench", "host": "bench", "pid": 1, "isolation": "none"}


class Program:
    """One connection. :raises AssertionError: the server refused"""

    def __init__(self, port: int, secret: str, runner: uuid.UUID) -> None:
        self._to, self._place = HTTPConnection("127.0.0.1", port, timeout=120), f"/api/runner/{runner}"
        self._said = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def post(self, path: str, document: Json, **headers: str) -> Any:
        said = {**self._said, **headers}
        self._to.request("POST", self._place + path, json.dumps(document), said)
        answer = self._to.getresponse()
        text = answer.read()
        assert answer.status == 200, f"{path}: {answer.status} {text[:300]!r}"
        return json.loads(text)

    def drive(self, jobs: Iterable[int]) -> int:
        moves = 0
        for job in jobs:
            started = self.post(f"/jobs/{job}/claim", {})["started"]
            while started is not None:
                orders, lease = started["orders"], started["lease"]
                said = {"attempt": orders["attempt"], "outcome": {"result": "success"}, "go_on": True}
                answer = self.post(f"/jobs/{orders['job_id']}/report", said, **{"Gateline-Lease": lease})
                assert answer["status"] == "accepted", answer
                started, moves = answer["following"], moves + 1
        return moves


def reports(home: Path, tasks: int, clients: int) -> Json:
    from pipelines.models import Job  # noqa: PLC0415  # after `database`
    from pipelines.work.config import WorkerConfig  # noqa: PLC0415  # after `database`
    from pipelines.work.processes.isolation import Isolation  # noqa: PLC0415  # after `database`
    from tests.factories import make_world  # noqa: PLC0415  # after `database`

    world = make_world()
    version = world.line(stations=[f"s{number}" for number in range(STATIONS)])
    begun = [world.start(version).pk for _ in range(tasks)]
    jobs = [*Job.objects.filter(task__in=begun).order_by("pk").values_list("pk", flat=True)]
    _, secret = world.runner()
    port, runner = free_port(), uuid.uuid4()
    fleet = Fleet(home, (), port)
    try:
        fleet.tend()
        (web,) = fleet.members
        assert web.process is not None
        programs = [Program(port, secret, runner) for _ in range(clients)]
        _answering(port)
        offers = sorted(WorkerConfig(home, Isolation("none")).offers)
        programs[0].post("", {**FACTS, "offers": offers})
        warm = programs[0].drive(jobs[:1])  # the process has read the version
        assert warm == STATIONS, f"{warm} moves"
        shares = [jobs[1 + at :: clients] for at in range(clients)]
        before, servers = cpu_of(web.process.pid), of_server(home)
        began = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            count = sum(pool.map(Program.drive, programs, shares))
        seconds = time.perf_counter() - began
        taken, there = cpu_of(web.process.pid) - before, of_server(home) - servers
    finally:
        fleet.stop()
    return {
        "clients": clients,
        "moves": count,
        "per second": round(count / seconds, 1),
        "ms of its processor a move": round(1000 * taken / count, 2),
        "ms of PostgreSQL a move": round(1000 * there / count, 2),
    }


def _answering(port: int) -> None:
    from tests.fixtures.site import health  # noqa: PLC0415  # after `database`

    deadline = time.monotonic() + 300
    while health(f"http://127.0.0.1:{port}") == 0:
        assert time.monotonic() < deadline, "the web process did not answer"
        time.sleep(0.1)


def of_server(home: Path) -> float:
    """Seconds of the processor of PostgreSQL, with those of its processes that ended."""
    from config.embedded import layout, server  # noqa: PLC0415  # after `database`

    first = server.pid_of(layout.of(home))
    assert first is not None
    own = [pid for pid in _processes() if pid == first or _parent(pid) == first]
    return sum(map(cpu_of, own)) + _of_the_ended(first)


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _parent(pid: int) -> int:
    said = _stat(pid)
    return int(said[1]) if said else 0


def _of_the_ended(pid: int) -> float:
    said = _stat(pid)
    return (int(said[13]) + int(said[14])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--clients", type=int, default=8)
    given, _ = parser.parse_known_args()
    with database() as home:
        told = reports(home, given.tasks, given.clients)
    keep("reports", {"load": os.getloadavg()[0], "stations": STATIONS, **told})
    return 0


if __name__ == "__main__":
    sys.exit(main())
