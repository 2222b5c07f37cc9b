"""Moves per second where every station is a report over HTTP: programs hold a connection each to one web process, claim
the first job of a task as a runner, report it, and go straight on with the next that the answer brings.

    python -m proof.bench.reports [--tasks 50] [--clients 8] [--together 1]

With --together each has so many tasks in hand, as a runner with that many places, and claims and reports in one call
what comes together.

Beside it: milliseconds of the processor a move that the web process took, all processes of PostgreSQL, and the programs
themselves, which run on the same machine. The server is one of its own, writing to disk, in a temporary
folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from pipelines.work.transport.http.wire_format import PROTOCOL
from proof.bench.moves import STATIONS, cpu_of
from proof.bench.rig import Json, database, keep
from proof.soak.fleet import Fleet
from proof.soak.kills import free_port

FACTS: Json = {"protocol": PROTOCOL, "name": "bench", "host": "bench", "pid": 1, "isolation": "none"}


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

    def drive(self, jobs: Sequence[int], together: int) -> int:
        """The stations of so many tasks at a time; where it is one, each report is a call of its own."""
        moves = 0
        for at in range(0, len(jobs), together):
            held = self.post("/claims", {"jobs": jobs[at : at + together]})["started"]
            while held := [each for each in held if each is not None]:
                answers = self._reported(held) if together > 1 else [self._answer_one(held[0])]
                assert all(each["status"] == "accepted" for each in answers), answers
                held, moves = [each["following"] for each in answers], moves + len(answers)
        return moves

    def _reported(self, held: Sequence[Json]) -> list[Json]:
        said = [{"job": each["orders"]["job_id"], "lease": each["lease"], **_said(each)} for each in held]
        answers: list[Json] = self.post("/reports", {"reports": said})["answers"]
        return answers

    def _answer_one(self, held: Json) -> Json:
        lease = {"Gateline-Lease": held["lease"]}
        answer: Json = self.post(f"/jobs/{held['orders']['job_id']}/report", _said(held), **lease)
        return answer


def _said(held: Json) -> Json:
    return {"attempt": held["orders"]["attempt"], "outcome": {"result": "success"}, "go_on": True}


def reports(home: Path, tasks: int, clients: int, together: int) -> Json:
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
    # Each station is a report, also one that does nothing.
    os.environ["GATELINE_PASS_THROUGH"] = "no"
    fleet = Fleet(home, (), port)
    try:
        fleet.tend()
        (web,) = fleet.members
        assert web.process is not None
        programs = [Program(port, secret, runner) for _ in range(clients)]
        _answering(port)
        offers = sorted(WorkerConfig(home, Isolation("none")).offers)
        programs[0].post("", {**FACTS, "offers": offers})
        warm = programs[0].drive(jobs[:1], 1)  # the process has read the version
        assert warm == STATIONS, f"{warm} moves"
        shares = [jobs[1 + at :: clients] for at in range(clients)]
        before, servers, own = cpu_of(web.process.pid), of_server(home), time.process_time()
        began = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            count = sum(pool.map(Program.drive, programs, shares, [together] * clients))
        seconds = time.perf_counter() - began
        taken, there = cpu_of(web.process.pid) - before, of_server(home) - servers
        programs_took = time.process_time() - own
    finally:
        fleet.stop()
    return {
        "clients": clients,
        "reports in a call": together,
        "moves": count,
        "per second": round(count / seconds, 1),
        "ms of its processor a move": round(1000 * taken / count, 2),
        "ms of PostgreSQL a move": round(1000 * there / count, 2),
        "ms of the programs a move": round(1000 * programs_took / count, 2),
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

    first = server.living_postmaster_pid_or_none(layout.recorded_or_planned_layout(home))
    assert first is not None
    own = [pid for pid in processes() if pid == first or parent(pid) == first]
    return sum(map(cpu_of, own)) + _of_the_ended(first)


def processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def parent(pid: int) -> int:
    said = _stat(pid)
    return int(said[1]) if said else 0


def _of_the_ended(pid: int) -> float:
    said = _stat(pid)
    return (int(said[13]) + int(said[14])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--together", type=int, default=1)
    given, _ = parser.parse_known_args()
    with database() as home:
        told = reports(home, given.tasks, given.clients, given.together)
    keep("reports", {"load": os.getloadavg()[0], "stations": STATIONS, **told})
    return 0


if __name__ == "__main__":
    sys.exit(main())
