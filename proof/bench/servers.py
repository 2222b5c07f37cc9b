"""Requests per second of the same application under daphne, which comes with the product, and under uvicorn; in turn,
A B A B, medians.

    python -m proof.bench.servers [--requests 300] [--clients 4] [--rounds 3]

Each of the clients holds one connection. `healthz` is the shortest answer, `the number beside Inbox` one that a person
is signed in for, `Home` a page. Beside each rate: milliseconds of the web process's processor a request. Uvicorn is
installed beside the contenders (.contenders), never in the product's environment."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

from proof.bench.contenders.environment import PLACE, ROOT, python
from proof.bench.moves import cpu_of
from proof.bench.rig import Json, database, keep
from proof.soak.fleet import Fleet, Member
from proof.soak.kills import free_port

BESIDE: Final = PLACE / "servers"
WANTED: Final = ("uvicorn>=0.30", "httptools", "uvloop", "websockets")


def uvicorn() -> Path:
    """The folder that it is in, with what it is usually run with."""
    if not (BESIDE / "uvicorn").exists():
        pip = [python(), "-m", "pip", "install", "--quiet", "--target", str(BESIDE)]
        subprocess.run([*pip, *WANTED], check=True)
    return BESIDE


@contextmanager
def served(home: Path, name: str) -> Iterator[tuple[int, int]]:
    """The port and the process of a web process that answers."""
    port = free_port()
    fleet = Fleet(home, (), port)
    (web,) = fleet.members
    if name == "uvicorn":
        words = ("config.asgi:application", "--port", str(port), "--log-level", "warning")
        path = os.pathsep.join((str(ROOT), str(uvicorn())))
        fleet.members = [
            Member(
                name, words, {**web.env, "PYTHONPATH": path}, home / "uvicorn.log", program=("-m", "uvicorn")
            )
        ]
    try:
        fleet.tend()
        (member,) = fleet.members
        assert member.process is not None
        _answering(port)
        yield port, member.process.pid
    finally:
        fleet.stop()


def _answering(port: int) -> None:
    from tests.fixtures.site import health  # noqa: PLC0415  # after `database`

    deadline = time.monotonic() + 120
    while health(f"http://127.0.0.1:{port}") == 0:
        assert time.monotonic() < deadline, "the server did not answer"
        time.sleep(0.1)


def asked(port: int, path: str, cookie: str, requests: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(requests):
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        assert len(answer.read()) == int(answer.headers.get("Content-Length") or 0), path
        assert answer.status in (200, 503), (path, answer.status)  # healthz, where there is no worker
    connection.close()


def measure(home: Path, name: str, paths: dict[str, str], cookie: str, requests: int, clients: int) -> Json:
    told: Json = {}
    with served(home, name) as (port, pid):
        for what, path in paths.items():
            asked(port, path, cookie, 5)
            before, began = cpu_of(pid), time.perf_counter()
            with ThreadPoolExecutor(clients) as pool:
                for done in [
                    pool.submit(asked, port, path, cookie, requests // clients) for _ in range(clients)
                ]:
                    done.result()
            seconds, taken = time.perf_counter() - began, cpu_of(pid) - before
            count = requests // clients * clients
            told[what] = {"per second": count / seconds, "ms of its processor": 1000 * taken / count}
    return told


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    given, _ = parser.parse_known_args()
    with database() as home:
        from django.conf import settings  # noqa: PLC0415  # after `database`
        from django.urls import reverse  # noqa: PLC0415  # after `database`

        from tests.factories import make_world  # noqa: PLC0415  # after `database`
        from tests.live.conftest import session_of  # noqa: PLC0415  # after `database`

        user = make_world().viewer
        user.set_password("correct horse battery")  # who has none is asked for one before any page
        user.save()
        cookie = f"{settings.SESSION_COOKIE_NAME}={session_of(user)}"
        paths = {
            "healthz": "/healthz",
            "the number beside Inbox": reverse("needs-count"),
            "Home": reverse("home"),
        }
        found: dict[str, list[Json]] = {"daphne": [], "uvicorn": []}
        for _round in range(given.rounds):
            for name, rows in found.items():
                rows.append(measure(home, name, paths, cookie, given.requests, given.clients))
    table = {
        name: {what: {key: median(rows, what, key) for key in rows[0][what]} for what in paths}
        for name, rows in found.items()
    }
    keep("servers", {"load": os.getloadavg()[0], "rounds": given.rounds, "medians": table})
    return 0


def median(rows: list[Json], what: str, key: str) -> float:
    return round(statistics.median(row[what][key] for row in rows), 2)


if __name__ == "__main__":
    sys.exit(main())
