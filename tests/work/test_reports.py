"""Reports that come together go together, and none suffers for another."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from pipelines import engine
from pipelines.work.transport.local import jobs, reports
from pipelines.work.transport.local.database import Database
from pipelines.work.transport.local.reports import Reports
from pipelines.work.transport.protocol import ReportAnswer, ReportFailed, Started
from tests.factories import World
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
DONE = {"result": "success"}


@contextmanager
def sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many reports each transaction carried."""
    found: list[int] = []
    report = engine.report

    def counted(members: Any) -> Any:
        found.append(len(members))
        return report(members)

    monkeypatch.setattr(engine, "report", counted)
    yield found


def started(world: World, count: int) -> list[Started]:
    version = world.line(stations=["a", "b"])
    tokens = [world.token(world.start(version)).pk for _ in range(count)]
    found = [jobs.start_open_job_of_token_or_none(token, world.claim()) for token in tokens]
    return [one for one in found if one is not None]


def send(all_of_them: list[Started], world: World) -> list[Any]:
    async def go() -> list[Any]:
        database = Database(2, "engine")
        own = Reports(database, f"worker:{world.worker.pk}")
        try:
            sent = (own.send(one, dict(DONE), world.claim()) for one in all_of_them)
            return await asyncio.gather(*sent, return_exceptions=True)
        finally:
            await asyncio.to_thread(database.close)

    return asyncio.run(go())


def test_what_gathers_goes_in_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    members = started(world, 12)
    with sizes(monkeypatch) as found:
        answers = send(members, world)
    assert sum(found) == 12
    assert len(found) <= 3
    assert all(answer.following.orders.station.key == "b" for answer in answers)


def test_a_report_alone_waits_for_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with sizes(monkeypatch) as found:
        send(started(world, 1), world)
    assert found == [1]


@pytest.mark.wide
def test_a_late_report_in_company_is_refused_alone(world: World) -> None:
    members = started(world, 4)
    members[1] = replace(members[1], lease=uuid.uuid4())
    answers = send(members, world)
    assert [answer.status for answer in answers] == ["accepted", "ignored", "accepted", "accepted"]


@pytest.mark.wide
def test_a_report_that_breaks_the_engine_breaks_only_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = started(world, 3)
    poison = members[1].orders.job_id
    resume = engine.report

    def broken(all_of_them: Any) -> Any:
        answers = resume(all_of_them)
        return [
            replace(answer, status="error", next_job_id=None, next_lease=None)
            if each.job_id == poison
            else answer
            for each, answer in zip(all_of_them, answers, strict=True)
        ]

    monkeypatch.setattr(reports.engine, "report", broken)
    answers = send(members, world)
    assert isinstance(answers[1], ReportFailed)
    assert [isinstance(answer, ReportAnswer) for answer in answers] == [True, False, True]


@pytest.mark.wide
def test_connections_are_closed_with_their_threads() -> None:
    async def go() -> int:
        database = Database(3, "engine")
        await asyncio.gather(*(database.call(pid) for _ in range(3)))
        used = await database.call(pid)
        await asyncio.to_thread(database.close)
        return used

    def pid() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid(), pg_sleep(0.05)")
            return int(cursor.fetchone()[0])

    used = asyncio.run(go())

    def there() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [used])
            return cursor.fetchone() is not None

    until(lambda: not there(), "the end of the connection")


def test_a_broken_connection_is_replaced() -> None:
    def kill_own() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    tried: list[int] = []

    def once() -> int:
        tried.append(1)
        if len(tried) == 1:
            kill_own()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 42")
            return int(cursor.fetchone()[0])

    async def go() -> int:
        database = Database(1, "engine")
        try:
            return await database.call_until_connected(once)
        finally:
            await asyncio.to_thread(database.close)

    assert (asyncio.run(go()), len(tried)) == (42, 2)
