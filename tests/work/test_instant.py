"""Work that takes no time goes on together, many tokens in one transaction, and none suffers for another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Event, Job, Lease, Task, Token
from pipelines.ports.terms import QUICK
from pipelines.work.transport.local import reports
from pipelines.work.worker import instant
from tests.factories import World, station
from tests.work.driving import Bench, command, tickets

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many reports each transaction carried."""
    found: list[int] = []
    report = engine.report

    def counted(members: Any) -> Any:
        found.append(len(members))
        return report(members)

    monkeypatch.setattr(engine, "report", counted)
    yield found


def drive(bench: Bench, *tasks: Task, **more: Any) -> None:
    """From the ticket of the first."""
    token = Token.objects.values_list("pk", flat=True).filter(task=tasks[0]).earliest("pk")

    async def go() -> None:
        async with bench.driver(**more) as driver:
            await driver.drive_ticket(token, QUICK)
            await driver.wait_until_idle()

    asyncio.run(go())


def states(world: World, tasks: list[Task]) -> set[str]:
    return {world.status(task) for task in tasks}


def test_one_ticket_takes_all_that_wait_through_their_lines_together(
    world: World, bench: Bench, sizes: list[int]
) -> None:
    version = world.line(stations=["a", "b", "c"])
    tasks = [world.start(version) for _ in range(8)]
    drive(bench, *tasks)
    assert states(world, tasks) == {"completed"}
    assert sizes == [8, 8, 8]
    assert not Lease.objects.exists()
    # The one that began it is the queue's to finish.
    assert tickets() <= 1


def test_more_than_go_together_come_in_turns(world: World, bench: Bench, sizes: list[int]) -> None:
    version = world.line(stations=["a", "b"])
    tasks = [world.start(version) for _ in range(53)]
    drive(bench, *tasks)
    assert states(world, tasks) == {"completed"}
    assert max(sizes) <= 50
    assert sum(sizes) == 106


def test_other_work_on_the_way_is_done_by_itself(world: World, bench: Bench, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = f"open({str(mark)!r}, 'a').write('x')"
    version = world.line(stations=["a", command("b", program), "c"])
    tasks = [world.start(version) for _ in range(3)]
    drive(bench, *tasks, concurrency=4)
    assert states(world, tasks) == {"completed"}
    assert mark.read_text() == "xxx"


def test_an_error_raised_by_a_line_is_routed(world: World, bench: Bench) -> None:
    version = world.line(stations=[station("a", kind="error", work={"message": "{{task.title}} is off"})])
    task = world.start(version, title="It")
    drive(bench, task)
    done = Job.objects.get(task=task, station="a")
    assert done.outcome == {"result": "failure", "failure_type": "raised", "summary": "It is off"}


def test_after_some_stations_others_get_their_turn(world: World, bench: Bench) -> None:
    version = world.line(stations=["a", "b", "c"])
    tasks = [world.start(version) for _ in range(2)]
    drive(bench, *tasks, most_stations=2)
    # Each was queued again at the third, and taken from there.
    assert states(world, tasks) == {"completed"}
    assert Event.objects.filter(task=tasks[0], kind="job.started").count() == 2


def test_one_that_breaks_the_engine_holds_up_none_of_the_others(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = world.line(stations=["a", "b"])
    tasks = [world.start(version) for _ in range(4)]
    poison = Job.objects.get(task=tasks[1]).pk
    report = engine.report

    def broken(members: Any) -> Any:
        if any(each.job_id == poison for each in members) and len(members) == 1:
            raise RuntimeError("poison")
        answers = report([each for each in members if each.job_id != poison])
        found = iter(answers)
        error = replace(answers[0], status="error", next_job_id=None, next_lease=None, following=None)
        return [error if each.job_id == poison else next(found) for each in members]

    monkeypatch.setattr(reports.engine, "report", broken)
    drive(bench, *tasks)
    assert [world.status(task) for task in tasks] == ["completed", "running", "completed", "completed"]


def test_a_batch_that_cannot_be_reported_is_reported_one_by_one(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = world.line(stations=["a", "b"])
    tasks = [world.start(version) for _ in range(3)]
    deliver = reports.deliver_reports

    def broken(members: list[Any]) -> Any:
        if len({each.job_id for each in members}) == 3:
            raise RuntimeError("together it does not work")
        return deliver(members)

    monkeypatch.setattr(reports, "deliver_reports", broken)
    monkeypatch.setattr(reports, "LARGEST_BATCH", 1)
    drive(bench, *tasks)
    assert states(world, tasks) == {"completed"}


def test_what_cannot_be_taken_together_is_taken_alone(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = world.line(stations=["a", "b"])
    task = world.start(version)

    def broken(*_: Any) -> Any:
        raise RuntimeError("together it does not work")

    monkeypatch.setattr(engine, "start_claimed_jobs", broken)
    drive(bench, task)
    assert world.status(task) == "completed"


@pytest.mark.broken
def test_what_this_worker_does_not_serve_stays_queued(world: World, bench: Bench) -> None:
    version = world.line(stations=[station("a", labels=["gpu"])])
    task = world.start(version)
    drive(bench, task)
    # Its ticket was taken, and none comes again: who does such work looks for it.
    assert (world.job(task).state, tickets()) == ("queued", 0)


def test_a_worker_that_stops_begins_nothing_and_loses_nothing(world: World, bench: Bench) -> None:
    version = world.line(stations=["a", "b", "c"])
    tasks = [world.start(version) for _ in range(4)]
    token = Token.objects.values_list("pk", flat=True).get(task=tasks[0])

    async def go() -> None:
        async with bench.driver() as driver:
            report = driver.transport.report_together

            async def last(done: Any) -> Any:
                driver.stopping = True
                return await report(done)

            driver.transport.report_together = last  # type: ignore[method-assign]
            await driver.drive_ticket(token, QUICK)
            await driver.drive_ticket(token, QUICK)

    asyncio.run(go())
    assert {tuple(world.at(task)) for task in tasks} == {("c",)}
    drive(bench, *tasks)
    assert states(world, tasks) == {"completed"}
    assert not Job.objects.exclude(attempt=1).exists()


def test_a_stop_in_the_middle_gives_all_of_them_back(world: World, bench: Bench) -> None:
    version = world.line(stations=["a", "b"])
    tasks = [world.start(version) for _ in range(3)]
    token = Token.objects.values_list("pk", flat=True).get(task=tasks[0])

    async def go() -> None:
        async with bench.driver() as driver:
            reported = asyncio.Event()

            async def never(_done: Any) -> Any:
                reported.set()
                await asyncio.Event().wait()

            driver.transport.report_together = never  # type: ignore[method-assign]
            driving = asyncio.create_task(driver.drive_ticket(token, QUICK))
            await reported.wait()
            await driver.cancel_every_drive()
            await asyncio.gather(driving, return_exceptions=True)

    asyncio.run(go())
    found = Job.objects.filter(task__in=tasks)
    assert {(job.station, job.state, job.attempt) for job in found} == {("a", "queued", 1)}
    assert not Lease.objects.exists()


def test_a_stop_while_it_looks_for_more_gives_back_what_goes_on(
    world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instant, "LOOK_SECONDS", 0)
    version = world.line(stations=["a", "b"])
    tasks = [world.start(version) for _ in range(3)]
    token = Token.objects.values_list("pk", flat=True).get(task=tasks[0])

    async def go() -> None:
        async with bench.driver() as driver:
            looking, claim = asyncio.Event(), driver.transport.claim_instant

            async def never(token_id: int | None, most: int) -> Any:
                if token_id is None:
                    looking.set()
                    await asyncio.Event().wait()
                return await claim(token_id, most)

            driver.transport.claim_instant = never  # type: ignore[method-assign]
            driving = asyncio.create_task(driver.drive_ticket(token, QUICK))
            await looking.wait()
            await driver.cancel_every_drive()
            await asyncio.gather(driving, return_exceptions=True)

    asyncio.run(go())
    found = Job.objects.filter(task__in=tasks, station="b")
    assert [(job.state, job.attempt) for job in found] == [("queued", 1)] * 3
    assert not Lease.objects.exists()
