"""The stream of a real web process: lines arrive while the rest is being decided, and nothing goes on for nobody."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction

from pipelines.lines.backtest import stream
from tests.backtest.many import copy
from tests.backtest.test_run import line
from tests.factories import World
from tests.fixtures.site import Site
from tests.waiting import LONG, how_long, until

# Copied tasks have no tokens and no events: the invariants do not hold of them.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.broken]
COPIES = 7_500


class Streams:
    """Back-tests of one line, asked of the web process over sockets of their own."""

    def __init__(self, site: Site, path: str, secret: str) -> None:
        self.host, self.path = urlsplit(site.url).netloc, path
        self.headers = {"Authorization": f"Bearer {secret}"}
        self.opened: list[http.client.HTTPConnection] = []

    def open(self) -> http.client.HTTPResponse:
        asked = http.client.HTTPConnection(self.host, timeout=LONG)
        self.opened.append(asked)
        asked.request("GET", self.path, headers=self.headers)
        return asked.getresponse()

    def close(self) -> None:
        for asked in self.opened:
            asked.close()
            if asked.sock:
                asked.sock.close()
        self.opened.clear()


def told(answer: http.client.HTTPResponse) -> dict[str, Any]:
    return dict(json.loads(answer.readline()))


@pytest.fixture
def streams(world: World, site: Site) -> Iterator[Streams]:
    """Over some ten thousand recorded decisions, so that it takes a while."""
    version = world.line(line())
    task = world.start(version)
    world.report(task)
    world.report(task)
    assert copy(version.line, COPIES) == 2 * (COPIES + 1)
    project = world.project
    path = f"/api/owners/{project.owner.key}/projects/{project.key}/lines/line/backtest"
    found = Streams(site, path, world.token_of(world.viewer)[1])
    yield found
    found.close()
    until(lambda: told(found.open())["type"] == "progress")
    found.close()
    # Truncating the tables waits for whoever still reads them.
    until(lambda: reads() == 0)


@contextmanager
def held_up() -> Iterator[None]:
    """Nobody else reads a decision meanwhile; entered as soon as one of the web process waits to."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE pipelines_decision IN ACCESS EXCLUSIVE MODE")
        until(lambda: waiting() > 0, "a back-test that goes on")
        yield


def waiting() -> int:
    """Backends of this database that wait for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE NOT granted AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])


def reads() -> int:
    """Statements over decisions that the web process has under way."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state <> 'idle' AND query ILIKE '%%pipelines_decision%%'"
        )
        return int(cursor.fetchone()[0])


def test_lines_arrive_while_the_rest_is_being_decided(streams: Streams) -> None:
    answer = streams.open()
    assert answer.getheader("Content-Type") == "application/x-ndjson"
    first = told(answer)
    # Collected first, it would all be decided by now.
    with held_up():
        pass
    rest = [json.loads(each) for each in answer]
    assert (first["type"], first["done"], first["total"]) == ("progress", 0, 2 * (COPIES + 1))
    assert rest[-1]["type"] == "result"
    assert rest[-1]["decisions"]["same"] == 2 * (COPIES + 1)
    assert len({each["done"] for each in rest if each["type"] == "progress"}) > 10


@pytest.mark.wide
def test_a_client_that_goes_away_frees_its_place(streams: Streams) -> None:
    for _ in range(stream.AT_ONCE):
        answer = streams.open()
        assert [told(answer)["type"] for _ in range(2)] == ["progress", "progress"]
    assert told(streams.open())["status"] == 429
    taken: list[http.client.HTTPResponse] = []

    def takes_a_place() -> bool:
        answer = streams.open()
        if told(answer)["type"] == "progress":
            taken.append(answer)
        return bool(taken)

    def goes_away() -> None:
        streams.close()
        until(takes_a_place, "a place")

    freed = how_long(goes_away)
    rest: list[dict[str, Any]] = []
    whole = how_long(lambda: rest.extend(json.loads(each) for each in taken[0]))
    assert rest[-1]["type"] == "result"
    assert freed < whole, "the place came free only when the whole was decided"
