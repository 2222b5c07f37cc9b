"""A driver that is stopped, loses its lease, or whose work breaks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.models import Artifact, Job, Lease, Snapshot, Task
from pipelines.ports import leases
from pipelines.work.handlers import table
from pipelines.work.scheduler import timers
from pipelines.work.spec.handler_io import Outcome, Sink, Spec
from pipelines.work.transport.local.transport import LocalTransport
from pipelines.work.transport.protocol import ReportAnswer, Started
from tests.factories import World
from tests.waiting import LONG, eventually
from tests.work.conftest import alive
from tests.work.driving import Bench, command, done, drive, in_thread, text_of, tickets

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def test_a_slow_command_holds_no_database_connection(world: World, bench: Bench) -> None:
    slow = world.start(world.line(stations=[command("a", "import time; time.sleep(600)")], key="slow"))
    quick = world.start(world.line(stations=["a", "b"], key="quick"))
    tokens = [world.token(slow).pk, world.token(quick).pk]

    async def go() -> None:
        async with bench.driver(engine_threads=1, concurrency=2) as driver:
            driver.spawn(driver.drive_token(tokens[0]))
            async with asyncio.timeout(LONG):
                await driver.drive_token(tokens[1])
            assert driver.drive_count == 1

    asyncio.run(go())
    assert (world.status(quick), world.status(slow)) == ("completed", "queued")


SLEEP = (
    "import os, sys, time; open({mark!r} + '.new', 'w').write(str(os.getpid()));"
    "os.rename({mark!r} + '.new', {mark!r}); time.sleep(600)"
)


def sleeping(world: World, mark: Path) -> Task:
    return world.start(world.line(stations=[command("a", SLEEP.format(mark=str(mark)))]))


def test_a_planned_stop_kills_queues_again_and_counts_no_attempt(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    mark = tmp_path / "pid"
    task = sleeping(world, mark)
    token = world.token(task).pk

    async def go() -> None:
        async with bench.driver() as driver:
            driver.spawn(driver.drive_token(token))
            await eventually(mark.exists)
            await driver.cancel_every_drive()

    before = tickets()
    asyncio.run(go())
    job = world.job(task)
    assert (job.state, job.attempt, job.lease_key, tickets()) == ("queued", 1, None, before + 1)
    assert not alive(int(mark.read_text()))


@pytest.mark.parametrize("how", ["swept", "cancelled"])
def test_a_lost_lease_kills_the_work_and_reports_nothing(
    world: World, bench: Bench, tmp_path: Path, how: str
) -> None:
    mark = tmp_path / "pid"
    task = sleeping(world, mark)
    token, operator = world.token(task).pk, world.operator

    def take_away() -> None:
        if how == "swept":
            world.expire(task)
            assert timers.expire_due_leases() == {"requeued": 1}
        else:
            engine.cancel(task.pk, actor=engine.Actor.person(operator), reason="Enough.")

    async def go() -> None:
        async with bench.driver() as driver:
            driving = driver.spawn(driver.drive_token(token))
            await eventually(mark.exists)
            await in_thread(take_away)
            held = await in_thread(leases.renew_leases_by_job, driver.transport.worker)
            driver.running.settle_leases_and_return_strays(held, driver.running.clock())
            async with asyncio.timeout(LONG):
                await driving
            assert not alive(int(mark.read_text()))

    asyncio.run(go())
    job = Job.objects.get(task=task)
    assert (job.state, job.attempt) == (("queued", 2) if how == "swept" else ("done", 1))
    assert "job.reported" not in world.kinds(task)


def test_a_renewal_that_began_before_the_work_takes_nothing_away(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    waits = f"import os, time\nwhile not os.path.exists({str(over)!r}): time.sleep(0.01)"
    task = world.start(world.line(stations=[command("a", waits)]))
    token = world.token(task).pk

    async def go() -> None:
        async with bench.driver() as driver:
            asked_at = driver.running.clock()
            driving = driver.spawn(driver.drive_token(token))
            await eventually(lambda: driver.running.work)
            driver.running.settle_leases_and_return_strays({}, asked_at)
            over.touch()
            await driving

    asyncio.run(go())
    assert world.status(task) == "completed"


def test_a_lease_that_nobody_drives_is_given_back(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=["a"]))

    async def go() -> None:
        async with bench.driver() as driver:
            started = await driver.transport.claim_token(token)
            assert started is not None
            held = {started.orders.job_id: started.lease}
            strays = [
                driver.running.settle_leases_and_return_strays(held, driver.running.clock()) for _ in range(4)
            ]
            assert strays == [[], [], [], list(held.items())]
            await driver.transport.give_back_stray(*strays[-1][0])

    token = world.token(task).pk
    asyncio.run(go())
    assert (world.job(task).state, world.job(task).attempt) == ("queued", 1)


def test_work_that_breaks_its_handler_ends_after_three_attempts(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(spec: Spec, sink: Sink) -> Outcome:
        raise RuntimeError("a fault of ours")

    monkeypatch.setitem(table.HANDLERS, "noop", broken)
    task = world.start(world.line(stations=["a"]))
    for _ in range(3):
        drive(bench, task)
        assert world.job(task).state == "running"
        world.expire(task)
        timers.expire_due_leases()
    job = Job.objects.get(task=task)
    assert (job.attempt, job.outcome) == (3, {"result": "cancelled", "reason": "lease_lost"})


@pytest.mark.parametrize("deaths", [1, 3])
def test_what_an_attempt_stored_that_never_reported_counts_for_nobody(
    world: World, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """Its worker dies between the two. The next attempt changes nothing; or there is none."""
    report, left = LocalTransport.report, [deaths]

    async def report_unless_dead(
        self: LocalTransport, started: Started, outcome: Outcome, go_on: bool
    ) -> ReportAnswer:
        if started.orders.station.key == "second" and left[0]:
            left[0] -= 1
            raise RuntimeError("the worker is killed here")
        return await report(self, started, outcome, go_on)

    monkeypatch.setattr(LocalTransport, "report", report_unless_dead)
    once = tmp_path / "once"
    change = f"import os\nif not os.path.exists({str(once)!r}):\n    open('b.txt', 'w').write('2')\n"
    change += f"open({str(once)!r}, 'w')\n"
    look = "import os; print('left', sorted(os.listdir('.')))"
    stations = [
        command("first", "open('a.txt', 'w').write('1')"),
        command("second", change, artifacts=[{"path": "b.txt", "required": False}]),
        command("third", look),
    ]
    task = world.start(world.line(stations=stations, policy={"no_match": "stuck"}))
    for _ in range(deaths):
        drive(bench, task)
        world.expire(task)
        timers.expire_due_leases()
    job = Job.objects.get(task=task, station="second")
    assert not Snapshot.objects.filter(job=job).exists() and not Artifact.objects.filter(job=job).exists()
    if deaths == 1:
        drive(bench, task)
        assert "left ['a.txt']" in text_of(done(task, "third"))
    else:
        assert job.outcome == {"result": "cancelled", "reason": "lease_lost"}


def test_a_broken_drive_is_no_longer_renewed(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(spec: Spec, sink: Sink) -> Outcome:
        raise RuntimeError("a fault of ours")

    monkeypatch.setitem(table.HANDLERS, "noop", broken)
    task = world.start(world.line(stations=["a"]))
    token, job_id = world.token(task).pk, world.job(task).pk

    async def go() -> None:
        async with bench.driver() as driver:
            await driver.drive_token(token)
            assert driver.running.abandoned == {job_id}
            held = await in_thread(
                leases.renew_leases_by_job, driver.transport.worker, 10.0, driver.running.abandoned
            )
            assert held == {}

    asyncio.run(go())


def test_leases_are_renewed_by_one_statement_and_expire_unrenewed(
    world: World, django_assert_num_queries: Any
) -> None:
    version = world.line(stations=["a"])
    tasks = [world.start(version) for _ in range(3)]
    for task in tasks:
        world.started(task)
    world.worker.seen_at = seen = timezone.now()
    world.worker.save()
    with django_assert_num_queries(1):
        held = leases.renew_leases_by_job(world.worker.pk, 30)
    assert set(held) == {world.job(task).pk for task in tasks}
    assert all(lease.expires_at > timezone.now() for lease in Lease.objects.all())
    assert leases.expired_leases_oldest_first() == []
    world.expire(tasks[0])
    assert [one.task_id for one in leases.expired_leases_oldest_first()] == [tasks[0].pk]
    world.worker.refresh_from_db()
    assert world.worker.seen_at > seen
