"""GET /healthz and what a web process does when something it needs is away: real processes."""

from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path

import psycopg
import pytest
from django.utils import timezone

from config.management.commands.announce import has_new_worker
from pipelines.models import Worker
from pipelines.ports.terms import LEASE_SECONDS
from tests.factories import World, make_worker
from tests.fixtures.site import Site, database_url, free_port, start_web, stop
from tests.pages.conftest import client_of
from tests.waiting import LONG, until

WHO_WAITS = (
    "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()"
)
"""Backends of this database alone that wait for a lock: other processes of the run use the same server."""


def fetch(address: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=LONG) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def health(site: Site) -> tuple[int, dict[str, str]]:
    status, body = fetch(f"{site.url}/healthz")
    return status, json.loads(body)


def worker(**more: object) -> Worker:
    now = timezone.now()
    facts = {"id": uuid.uuid4(), "name": "w", "host": "h", "pid": 1, "started_at": now, "seen_at": now}
    return Worker.objects.create(**facts | more)


def test_it_is_200_while_all_three_work(site: Site) -> None:
    worker()
    assert health(site) == (
        200,
        {"status": "ok", "database": "ok", "worker": "ok", "space": "ok", "channel_layer": "ok"},
    )


def test_of_a_web_process_alone_it_is_200_without_a_worker(site: Site) -> None:
    status, body = fetch(f"{site.url}/healthz?web")
    report = json.loads(body)
    assert (status, report["status"], report["worker"]) == (200, "ok", "down")


@pytest.mark.parametrize(
    "away", [{}, {"seen_at": timedelta(seconds=LEASE_SECONDS + 1)}, {"stopped_at": timedelta()}]
)
def test_it_is_503_without_a_worker_that_showed_itself_lately(site: Site, away: dict[str, timedelta]) -> None:
    if away:
        worker(**{name: timezone.now() - ago for name, ago in away.items()})
    assert health(site) == (
        503,
        {"status": "down", "database": "ok", "worker": "down", "space": "ok", "channel_layer": "ok"},
    )


@pytest.mark.wide
def test_it_is_503_when_database_and_redis_are_away(transactional_db: None, tmp_path: Path) -> None:
    nowhere = "127.0.0.1:9"
    site = start_web(tmp_path, DATABASE_URL=f"postgres://u:p@{nowhere}/n", REDIS_URL=f"redis://{nowhere}")
    try:
        assert health(site) == (
            503,
            {
                "status": "down",
                "database": "down",
                "worker": "down",
                "space": "down",
                "channel_layer": "down",
            },
        )
    finally:
        stop(site.process)


@pytest.fixture
def prefixed(transactional_db: None, tmp_path: Path) -> Iterator[Site]:
    """Under a path prefix, with one database connection."""
    port = free_port()
    site = start_web(tmp_path, BASE_URL=f"http://127.0.0.1:{port}/line", DATABASE_POOL="1")
    yield site
    stop(site.process)


@pytest.mark.wide
def test_a_prefix_works_whether_the_proxy_strips_it_or_not(prefixed: Site) -> None:
    for address in (f"{prefixed.url}/line/sign-in/", f"{prefixed.url}/sign-in/"):
        status, page = fetch(address)
        assert status == 200
        inside = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
        assert inside and all(path.startswith("/line/") for path in inside), inside
    assert fetch(f"{prefixed.url}/line/healthz")[0] in (200, 503)
    assert fetch(f"{prefixed.url}/lines/")[0] == 404, "another path that begins alike is no part of it"


@pytest.mark.wide
def test_an_exhausted_pool_is_a_503_and_no_hang(prefixed: Site) -> None:
    url = database_url()
    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("LOCK TABLE pipelines_worker IN ACCESS EXCLUSIVE MODE")
        waiting = pool.submit(fetch, f"{prefixed.url}/healthz")
        _until_someone_waits(url)
        status, _ = fetch(f"{prefixed.url}/api/owners/o/projects/p/lines", Authorization="Bearer gl_none")
        assert status == 503  # answered while the table is still held
        holder.rollback()
        assert waiting.result(LONG)[0] == 503  # no worker, but an answer


@pytest.mark.parametrize("kind", ["page", "session", "api"])
def test_a_database_lost_in_mid_request_is_a_503(world: World, site: Site, kind: str) -> None:
    """The request waits for a lock that the test holds; then its connection is ended by the server."""
    url = database_url()
    signed_in = client_of(world.viewer)
    session = f"gateline_session={signed_in.cookies['gateline_session'].value}"
    token = f"Bearer {world.token_of(world.viewer)[1]}"
    in_project = f"{world.project.owner.key}/projects/{world.project.key}"
    table, address, headers = {
        "page": (
            "pipelines_line",
            f"/p/{world.project.owner.key}/{world.project.key}/lines/",
            {"Cookie": session},
        ),
        "session": ("django_session", "/", {"Cookie": session}),
        "api": ("pipelines_line", f"/api/owners/{in_project}/lines", {"Authorization": token}),
    }[kind]
    with psycopg.connect(url) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        waiting = pool.submit(fetch_whole, f"{site.url}{address}", headers)
        _until_someone_waits(url)
        with psycopg.connect(url, autocommit=True) as killer:

            def answered() -> bool:
                """What asks again while it ends is cut off again."""
                killer.execute(f"SELECT pg_terminate_backend(pid) {WHO_WAITS}")
                return waiting.done()

            until(answered, "the answer")
        status, retry_after, kind_of_body = waiting.result(LONG)
        holder.rollback()
    assert (status, retry_after) == (503, "3")
    assert kind_of_body == ("application/problem+json" if kind == "api" else "text/html; charset=utf-8")
    assert fetch(f"{site.url}{address}", **headers)[0] == 200  # and the next one has another connection


def fetch_whole(address: str, headers: dict[str, str]) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=LONG) as answer:
            return answer.status, "", answer.headers["Content-Type"]
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Retry-After"], error.headers["Content-Type"]


def test_a_full_disk_of_a_living_worker_is_told(site: Site) -> None:
    worker(no_space=True)
    status, parts = health(site)
    assert (status, parts["space"], parts["worker"]) == (503, "down", "ok")
    Worker.objects.update(no_space=False)
    assert health(site)[1]["space"] == "ok"


def _until_someone_waits(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as watcher:
        until(lambda: watcher.execute(f"SELECT 1 {WHO_WAITS}").fetchone())


def test_a_request_under_way_keeps_no_process_from_ending(
    transactional_db: None, world: World, tmp_path: Path
) -> None:
    """It waits for a lock while the page's socket is closed at once, and with it the server."""
    url, stopping = database_url(), start_web(tmp_path)
    cookie = f"gateline_session={client_of(world.viewer).cookies['gateline_session'].value}"
    project = f"{world.project.owner.key}/{world.project.key}"
    try:
        with (
            psycopg.connect(url) as holder,
            ThreadPoolExecutor(1) as pool,
            _live(stopping, project, cookie),
        ):
            holder.execute("LOCK TABLE pipelines_line IN ACCESS EXCLUSIVE MODE")
            waiting = pool.submit(fetch_whole, f"{stopping.url}/p/{project}/lines/", {"Cookie": cookie})
            _until_someone_waits(url)
            stopping.process.terminate()
            until(lambda: "web_stopped" in stopping.log.read_text(), "the end of the server")
            holder.rollback()
            stopping.process.wait(LONG)
            with pytest.raises((OSError, HTTPException)):
                waiting.result(LONG)
    finally:
        stop(stopping.process)


def _live(site: Site, project: str, cookie: str) -> socket.socket:
    """The socket of a page of this project, open."""
    host = site.url.removeprefix("http://")
    name, _, port = host.partition(":")
    opened = socket.create_connection((name, int(port)), LONG)
    asked = [
        f"GET /live/?project={project} HTTP/1.1", f"Host: {host}", f"Origin: {site.url}", f"Cookie: {cookie}",
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", "", "",
    ]  # fmt: skip
    opened.sendall("\r\n".join(asked).encode())
    assert opened.recv(1024).startswith(b"HTTP/1.1 101")
    return opened


def test_a_start_waits_for_a_worker_of_its_own(world: World) -> None:
    """One that was killed has a row which is alive for a while yet, and /healthz takes it for one that works."""
    killed = world.worker.pk
    assert not has_new_worker({killed})
    started = make_worker(name="started")
    assert has_new_worker({killed})
    Worker.objects.filter(pk=started.pk).update(stopped_at=timezone.now())
    assert not has_new_worker({killed})
