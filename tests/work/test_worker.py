"""The worker as a process."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from pipelines.models import Due, GateVisit, Job, Lease, Task, Worker
from pipelines.work.processes.installation import is_installation
from tests.factories import World, station
from tests.fixtures.site import environment, manage, stop
from tests.waiting import LONG, until
from tests.work.conftest import alive

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path, transactional_db: None) -> Iterator[Start]:
    processes = []

    def one(*words: str, **more: str) -> subprocess.Popen[bytes]:
        log = tmp_path / f"worker{len(processes)}.log"
        processes.append(manage("worker", *words, log=log, env=environment(**more)))
        return processes[-1]

    yield one
    for process in processes:
        stop(process)


def sleeping(world: World, mark: Path, **more: object):  # type: ignore[no-untyped-def]  # a Task
    program = f"echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 600"
    work = {"argv": ["sh", "-c", program]}
    return world.start(world.line(stations=[station("a", kind="command", work=work, **more)]))


def test_it_runs_a_line_to_the_end_and_shows_itself(world: World, start: Start) -> None:
    process = start("--name", "the one", "--label", "gpu")
    task = world.start(world.line(stations=[station("a", labels=["gpu"]), "b"]))
    until(lambda: world.status(task) == "completed")
    worker = Worker.objects.get(pid=process.pid)
    assert (worker.name, worker.labels, worker.stopped_at) == ("the one", ["gpu"], None)
    assert worker.isolation in ("bubblewrap", "landlock", "none")


def test_E13_a_worker_starts_what_follows_and_holds_the_third_in_a_row(world: World, start: Start) -> None:
    ends = [{"key": "rolled-back", "kind": "failed", "follow_up": "always"}]
    start("--name", "follows")
    task = world.start(world.line(stations=[station("a", {"id": "back", "to": "rolled-back"})], ends=ends))
    until(lambda: Task.objects.filter(project=world.project, status="held").exists())
    told = Task.objects.filter(project=world.project).order_by("number")
    assert list(told.values_list("status", flat=True)) == [*["failed"] * 3, "held"]
    assert [each.follows_id for each in told] == [None, *[each.pk for each in told[:3]]]
    assert told[0] == task


@pytest.mark.wide
def test_a_planned_stop_queues_again_counts_nothing_and_leaves_nothing(
    world: World, start: Start, tmp_path: Path
) -> None:
    mark = tmp_path / "pid"
    process = start("--drain", "0.5", GATELINE_ISOLATION="none")
    task = sleeping(world, mark)
    until(mark.exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONG) == 0
    job = world.job(task)
    assert (job.state, job.attempt, Lease.objects.count()) == ("queued", 1, 0)
    assert not alive(int(mark.read_text()))
    worker = Worker.objects.get(pid=process.pid)
    assert (worker.stopping, worker.stopped_at is None) == (True, False)


@pytest.mark.wide
def test_another_worker_goes_on_where_a_killed_one_was(world: World, start: Start, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    first = start(GATELINE_ISOLATION="none")
    task = sleeping(world, mark)
    until(mark.exists)
    start(GATELINE_ISOLATION="none")
    until(lambda: Worker.objects.exclude(pid__in=[first.pid, 1]).exists())
    pid, job = int(mark.read_text()), world.job(task)
    mark.unlink()
    first.kill()
    until(lambda: not alive(pid))
    until(mark.exists)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (Job.State.RUNNING, 2)
    assert world.kinds(task).count("job.lost") == 1


@pytest.mark.wide
def test_a_time_that_passed_while_no_worker_ran_is_kept_by_the_next(world: World, start: Start) -> None:
    gate = {"key": "review", "due": {"after": "1h", "then": "reject"}}
    on = {"id": "on", "to": "b", "gates": ["review"]}
    task = world.start(world.line(stations=[station("a", on), "b"], gates=[gate]))
    first = start()
    until(lambda: world.status(task) == "awaiting_review")
    first.kill()
    first.wait(LONG)
    past = timezone.now() - timedelta(minutes=1)
    Due.objects.filter(task=task).update(due_at=past)
    GateVisit.objects.filter(task=task).update(due_at=past)
    # Of two that start together one does it.
    for _ in range(2):
        start()
    until(lambda: world.status(task) == "failed")
    assert world.kinds(task).count("gate.decided") == 1


@pytest.mark.wide
def test_a_worker_sits_out_that_its_connections_are_cut(world: World, start: Start, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    process = start(GATELINE_ISOLATION="none")
    long = sleeping(world, mark)
    until(mark.exists)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'gateline worker'"
        )
        assert len(cursor.fetchall()) > 3
    task = world.start(world.line(stations=["a", "b"], key="after"))
    until(lambda: world.status(task) == "completed")
    assert process.poll() is None
    assert (world.job(long).attempt, alive(int(mark.read_text()))) == (1, True)


@pytest.mark.wide
def test_a_ticket_that_died_with_its_worker_is_given_to_another(world: World, start: Start) -> None:
    task = world.start(world.line(stations=["a"]))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id"
        )
        dead = cursor.fetchone()[0]
        cursor.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s", [dead])
    start()
    until(lambda: world.status(task) == "completed")


@pytest.mark.parametrize(
    ("folder", "brings"),
    [
        ("/opt/tool/bin", True),
        ("/opt/tool", False),
        ("~/.local/bin", False),
        ("~/bin", False),
        ("~/.x/v1/bin", True),
    ],
)
def test_a_folder_of_programs_brings_its_libraries_but_not_a_home(folder: str, brings: bool) -> None:
    assert is_installation(Path(folder).expanduser()) is brings


@pytest.mark.wide
def test_an_isolation_that_does_not_work_stops_the_start(start: Start, tmp_path: Path) -> None:
    process = start(GATELINE_ISOLATION="env -i")
    assert process.wait(LONG) == 1
    assert "GATELINE_ISOLATION" in (tmp_path / "worker0.log").read_text()
