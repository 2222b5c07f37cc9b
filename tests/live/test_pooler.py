"""Two web processes behind PgBouncer in transaction mode: what is started at one is told at the other, and what is
counted is counted together, with hints over PostgreSQL and over Redis. A real pgbouncer before the test database, and a
real redis-server."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.factories import World
from tests.fixtures.site import Site, database_url, free_port, start_web, stop
from tests.live.conftest import session_of
from tests.live.redis_server import needs_redis
from tests.live.test_slow_clients import heard, opened
from tests.waiting import LONG, until

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed"),
]
ANONYMOUS = 6


@pytest.fixture
def pooler(tmp_path: Path) -> Iterator[str]:
    """The address of the test database through a pooler that has four connections for everybody."""
    facts, port = connection.settings_dict, free_port()
    server = " ".join(
        f"{key}={facts[name]}"
        for key, name in {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}.items()
        if facts[name]
    )
    lines = ["[databases]", f"* = {server}", "[pgbouncer]", "pool_mode = transaction", "auth_type = any"]
    lines += [
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        "default_pool_size = 4",
    ]
    # Django and psycopg set it for each connection, which a pooler refuses unless it knows it
    lines += ["ignore_startup_parameters = extra_float_digits", f"logfile = {tmp_path}/pgbouncer.log"]
    if os.getuid() == 0 and str(facts["HOST"]).startswith("/"):
        # It refuses to be root, and has to enter the folder of the socket
        lines.append(f"user = {pwd.getpwuid(os.stat(facts['HOST']).st_uid).pw_name}")
        lines.remove(f"logfile = {tmp_path}/pgbouncer.log")
    (tmp_path / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
    with (tmp_path / "pgbouncer.out").open("wb") as log:
        process = subprocess.Popen([str(PGBOUNCER), str(tmp_path / "pgbouncer.ini")], stdout=log, stderr=log)

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(answers, lambda: (tmp_path / "pgbouncer.out").read_text())
    yield f"postgres://{facts['USER']}:x@127.0.0.1:{port}/{facts['NAME']}"
    stop(process)


@pytest.fixture(params=["postgresql", pytest.param("redis", marks=needs_redis)])
def sites(request: pytest.FixtureRequest, pooler: str, tmp_path: Path) -> Iterator[list[Site]]:
    more = {
        "DATABASE_URL": pooler,
        "DATABASE_DIRECT_URL": database_url(),
        "GATELINE_ANONYMOUS_PER_MINUTE": str(ANONYMOUS),
    }
    if request.param == "redis":
        redis = request.getfixturevalue("redis")
        redis.start()
        more["REDIS_URL"] = redis.url
    processes = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        processes.append(start_web(tmp_path / name, **more))
    yield processes
    for site in processes:
        stop(site.process)


def start_task(site: Site, world: World, token: str, line: str) -> str:
    request = urllib.request.Request(
        f"{site.url}/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/stages/{line}/tasks",
        data=json.dumps({"inputs": {}}).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=LONG) as answer:
        return str(json.load(answer)["id"])


def page_status(site: Site) -> int:
    try:
        with urllib.request.urlopen(f"{site.url}/sign-in/", timeout=LONG) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_two_web_processes_behind_a_pooler_are_one(sites: list[Site], world: World) -> None:
    first, second = sites
    line = world.line(stations=["a"]).line.key
    token, session = world.token_of(world.operator, "submit", "read")[1], session_of(world.viewer)
    with opened(first, world, session) as near, opened(second, world, session) as far:
        # More than the pooler has connections
        for at in (first, second) * 6:
            name = f'"{start_task(at, world, token, line)}"'.encode()
            heard(far, name)
            heard(near, name)
    # The limit holds for both together, whichever is asked
    statuses = [page_status(site) for site in (first, second) * ANONYMOUS]
    assert statuses.count(200) <= ANONYMOUS and statuses[-2:] == [429, 429], statuses
