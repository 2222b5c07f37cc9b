"""A station run by itself: by the same worker and the same code as for a task, and no table of a task is touched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.lines import trials
from pipelines.lines.publishing import create_line
from pipelines.lines.trials import TrialRequest
from pipelines.models import AdministrativeAct, Line, StationTrial
from pipelines.ports import clock
from pipelines.ports.queue_tasks import DRAWINGS
from pipelines.ports.vault import store
from pipelines.work.transport.local import trials as local
from pipelines.work.transport.local.trials import LocalTrial
from tests.factories import World, document, station
from tests.fixtures.site import environment, manage, stop
from tests.waiting import eventually, until
from tests.work.driving import PYTHON, Bench, command, done, drive, in_thread
from tests.work.remotes import connect, remote

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("artifacts_here")]

OWN = {"pipelines_stationtrial", "pipelines_administrativeact", "pipelines_worker", "pipelines_storedvalue"}
"""The tables that a trial writes, and the row of the worker; of a stored value its last use."""
HELLO = "print('hello')"
SAYS = "\nimport json, os\njson.dump({'output': %s}, open(os.environ['GATELINE_RESULT'], 'w'))"


def line_of(world: World, *stations: Any, **more: Any) -> Line:
    said = document(key="tried", stations=[*stations], **more)
    return create_line(world.project, "tried", "Tried", said, world.admin)


def asked(line: Line, key: str = "build", **more: Any) -> TrialRequest:
    given: dict[str, Any] = {"inputs": {}, "context": {}}
    return TrialRequest(line.draft, key, **(given | more))


def run(bench: Bench, trial: StationTrial, **config: Any) -> StationTrial:
    async def go() -> None:
        async with bench.driver(**config) as driver:
            await driver.try_station(LocalTrial(trial.pk))

    asyncio.run(go())
    trial.refresh_from_db()
    return trial


def tried(world: World, bench: Bench, program: str, **more: Any) -> StationTrial:
    line = line_of(world, command("build", program, **more))
    return run(bench, trials.start_trial(line, world.admin, asked(line)))


def text_of(trial: StationTrial) -> str:
    return "".join(f"{each.partition(chr(9))[2]}\n" for each in trial.log.split("\n")[:-1])


def logged(trial: StationTrial) -> bool:
    return StationTrial.objects.filter(pk=trial.pk).exclude(log="").exists()


def rows() -> dict[str, tuple[int, str]]:
    """Of every table of the product: how many rows, and what they say."""
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)} - OWN
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(each for each in tables if each.startswith(("pipelines_", "reviews_"))):
            cursor.execute(
                f'SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM "{table}" t'
            )
            found[table] = cursor.fetchone()
    return found


@contextmanager
def untouched() -> Iterator[None]:
    before = rows()
    yield
    assert rows() == before
    assert {"pipelines_task", "pipelines_job", "pipelines_event", "pipelines_decision"} <= set(before)


def test_a_command_runs_and_its_log_and_outcome_are_kept(world: World, bench: Bench) -> None:
    world.start(world.line(stations=["other"]))
    line = line_of(world, command("build", "print('hello')" + SAYS % "{'high': 2}"))
    with untouched():
        trial = run(bench, trials.start_trial(line, world.admin, asked(line)))
    assert (trial.state, text_of(trial)) == ("done", "hello\n")
    assert trial.outcome is not None
    assert trial.outcome["exit_code"] == 0
    assert trial.outcome["output"] == {"high": 2}
    act = AdministrativeAct.objects.get(kind="station.tried")
    assert (act.actor, act.name) == (f"person:{world.admin.pk}", "Tried: build")
    assert not list(bench.base.rglob("document.json"))


def test_a_failure_is_an_outcome_as_of_a_task(world: World, bench: Bench) -> None:
    trial = tried(world, bench, "import sys; print('no', file=sys.stderr); sys.exit(3)")
    assert trial.outcome is not None
    assert (trial.outcome["exit_code"], text_of(trial)) == (3, "no\n")


def test_work_that_takes_no_time_runs_too(world: World, bench: Bench) -> None:
    line = line_of(world, station("build", kind="noop"))
    with untouched():
        trial = run(bench, trials.start_trial(line, world.admin, asked(line)))
    assert (trial.state, trial.outcome) == ("done", {"result": "success"})


def test_typed_inputs_and_context_are_rendered(world: World, bench: Bench) -> None:
    work = {
        "argv": [PYTHON, "-c", "import sys; print(sys.argv[1:])", "{{input.who}}", "{{context.plan.high}}"]
    }
    line = line_of(world, command("build", "", work=work), inputs=[{"key": "who", "required": True}])
    given = asked(line, inputs={"who": "Ada"}, context={"plan": {"high": 7}})
    assert text_of(run(bench, trials.start_trial(line, world.admin, given))) == "['Ada', '7']\n"
    missing = run(bench, trials.start_trial(line, world.admin, asked(line)))
    assert missing.outcome is not None
    assert missing.outcome["failure_type"] == "template_error"
    with pytest.raises(Invalid):
        trials.start_trial(line, world.admin, asked(line, inputs={"nobody": 1}))


def test_a_recorded_run_gives_its_inputs_files_and_context(world: World, bench: Bench) -> None:
    program = (
        "import os, sys; print(sys.argv[1:], os.listdir(), open('made').read()); open('made', 'w').write('2')"
    )
    first = command("first", "open('made', 'w').write('1'); print('one')", {"id": "on", "to": "build"})
    work = {"argv": [PYTHON, "-c", program, "{{input.who}}"]}
    said = document(
        key="tried", stations=[first, command("build", program, work=work)], inputs=[{"key": "who"}]
    )
    version = world.line(said)
    task = world.start(version, inputs={"who": "Ada"})
    drive(bench, task)
    source = done(task, "build")
    line = version.line
    with untouched():
        trial = run(
            bench, trials.start_trial(line, world.admin, asked(line, source=source.pk, inputs={"who": "Bob"}))
        )
    assert text_of(trial) == "['Ada'] ['made'] 1\n"
    assert [each.pk for each in trials.recorded_runs_newest_first(line, "build")] == [source.pk]
    with pytest.raises(NotFound):
        trials.start_trial(line, world.admin, asked(line, source=done(task, "first").pk))


def test_a_stored_secret_reaches_the_station_and_is_hidden(world: World, bench: Bench) -> None:
    place, now = store.ValuePlace(world.project), clock.now()
    store.create_or_replace_value(
        place, "API_TOKEN", "sesame-open-now", kind="secret", by=world.admin, now=now
    )
    program = "import os; print(os.environ['TOKEN'][::-1], os.environ['TOKEN'])"
    work = {"env": {"TOKEN": {"secret": "API_TOKEN"}}}
    trial = tried(world, bench, program, work=work)
    assert "won-nepo-emases" in text_of(trial)
    assert "sesame" not in trial.log


def test_who_may_not_design_and_execute_runs_no_code(world: World) -> None:
    line = line_of(
        world, command("build", HELLO), station("look", kind="noop"), station("ask", kind="manual")
    )
    for person in (world.operator, world.reviewer, world.viewer):
        with pytest.raises(Forbidden):
            trials.start_trial(line, person, asked(line, "look"))
    with pytest.raises(Forbidden, match="execute"):
        trials.start_trial(line, world.designer, asked(line))
    with pytest.raises(Invalid, match="by itself"):
        trials.start_trial(line, world.admin, asked(line, "ask"))
    assert trials.start_trial(line, world.designer, asked(line, "look")).state == "queued"


def test_one_at_a_time_is_open_for_each_person(world: World, bench: Bench) -> None:
    line = line_of(world, station("build", kind="noop"))
    first = trials.start_trial(line, world.admin, asked(line))
    with pytest.raises(Conflict, match="still going"):
        trials.start_trial(line, world.admin, asked(line))
    trials.start_trial(line, world.designer, asked(line))
    assert trials.cancel_trial(line, world.admin, first.pk).why == "cancelled"
    assert run(bench, first).state == "cancelled"
    trials.start_trial(line, world.admin, asked(line))
    with pytest.raises(NotFound):
        trials.get_trial(line, world.designer, first.pk)


def test_cancelling_kills_its_processes(world: World, bench: Bench, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    says = f"open({str(mark)!r}, 'w').write(str(os.getpid())); print('up', flush=True)"
    program = f"import os, time; {says}; time.sleep(600)"
    line = line_of(world, command("build", program))
    trial = trials.start_trial(line, world.admin, asked(line))

    async def go() -> None:
        async with bench.driver() as driver:
            running = asyncio.create_task(driver.try_station(LocalTrial(trial.pk)))
            await eventually(partial(in_thread, logged, trial), "its log")
            await in_thread(trials.cancel_trial, line, world.admin, trial.pk)
            await running

    asyncio.run(go())
    trial.refresh_from_db()
    assert (trial.state, trial.why, trial.outcome) == ("cancelled", "cancelled", None)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_its_own_timeout_ends_it_as_a_task(world: World, bench: Bench) -> None:
    trial = tried(world, bench, "import time; time.sleep(600)", limits={"max_timeout": "1s"})
    assert trial.outcome is not None
    assert trial.outcome["reason"] == "max_timeout"


def test_no_station_runs_longer_than_ten_minutes(world: World) -> None:
    line = line_of(world, command("build", HELLO), command("long", HELLO, limits={"max_timeout": "2h"}))
    for key in ("build", "long"):
        made = local.TrialOrders.orders_for_trial(
            StationTrial(pk=1, line=line, station=key, document=line.draft, by=world.admin)
        )
        assert made.started_trial().orders.station.max_timeout == local.MOST_SECONDS == 600


def test_a_log_is_bounded_and_says_so(world: World, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LOG_CHARACTERS", 2_000)
    slowly = "for n in range(3):\n    print('x' * 79, flush=True)\n    time.sleep(0.7)"
    program = f"import time\n{slowly}\nprint('y\\n' * 5_000)"
    trial = tried(world, bench, program)
    lines = text_of(trial).splitlines()
    assert lines[:3] == ["x" * 79] * 3
    assert lines[-1] == local.CUT
    assert len(trial.log) < 2_200
    assert trial.state == "done"


def test_an_outcome_that_cannot_be_stored_says_why(world: World, bench: Bench) -> None:
    program = "import json, os; json.dump({'output': {'a': 'x' * 2_000_000}}, open(os.environ['GATELINE_RESULT'], 'w'))"
    trial = tried(world, bench, program)
    assert trial.outcome is not None
    assert trial.outcome["exit_code"] == 0
    assert "larger than 1 MiB" in trial.outcome["output_error"]


def test_it_waits_for_a_worker_that_serves_it(world: World, bench: Bench) -> None:
    line = line_of(world, command("build", HELLO, labels=["gpu"]))
    with pytest.raises(Conflict, match="gpu"):
        trials.start_trial(line, world.admin, asked(line))
    world.worker.labels = ["gpu"]
    world.worker.save()
    trial = trials.start_trial(line, world.admin, asked(line))
    assert run(bench, trial).state == "queued"
    assert run(bench, trial, labels=frozenset({"gpu"})).state == "done"
    late = trials.start_trial(line, world.admin, asked(line))
    StationTrial.objects.filter(pk=late.pk).update(created_at=clock.now() - timedelta(minutes=3))
    assert run(bench, late).why == "no_worker"


def test_what_its_worker_lost_is_closed(world: World) -> None:
    line = line_of(world, station("build", kind="noop"))
    trial = trials.start_trial(line, world.admin, asked(line))
    long_ago = clock.now() - timedelta(minutes=1)
    StationTrial.objects.filter(pk=trial.pk).update(state="running", seen_at=long_ago)
    assert trials.get_trial(line, world.admin, trial.pk).why == "lost"


def test_a_stop_of_its_worker_is_told(world: World, bench: Bench) -> None:
    line = line_of(world, command("build", "import time; print('up', flush=True); time.sleep(600)"))
    trial = trials.start_trial(line, world.admin, asked(line))

    async def go() -> None:
        async with bench.driver() as driver:
            running = asyncio.create_task(driver.try_station(LocalTrial(trial.pk)))
            await eventually(partial(in_thread, logged, trial), "its log")
            await driver.cancel_every_drive()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(go())
    trial.refresh_from_db()
    assert (trial.state, trial.why) == ("cancelled", "stopped")


def test_it_is_deleted_after_an_hour(world: World) -> None:
    line = line_of(world, station("build", kind="noop"))
    trial = trials.start_trial(line, world.admin, asked(line))
    StationTrial.objects.filter(pk=trial.pk).update(created_at=clock.now() - timedelta(minutes=61))
    with pytest.raises(NotFound):
        trials.get_trial(line, world.admin, trial.pk)
    StationTrial.objects.filter(pk=trial.pk).update(created_at=clock.now())
    assert trials.delete_some_old_trials(clock.now() + timedelta(minutes=59)) == 0
    assert trials.delete_some_old_trials(clock.now() + timedelta(minutes=61)) == 1
    assert not StationTrial.objects.filter(pk=trial.pk).exists()


def test_a_worker_process_takes_it_from_the_queue(world: World, tmp_path: Path) -> None:
    line = line_of(world, command("build", HELLO))
    log = tmp_path / "worker.log"
    # Else the process would draw the line, too
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs WHERE queue_name = %s", [DRAWINGS])
    trial = trials.start_trial(line, world.admin, asked(line))
    with untouched():
        process = manage("worker", log=log, env=environment())
        try:
            until(
                lambda: trials.get_trial(line, world.admin, trial.pk).ended_at,
                lambda: log.read_text()[-3000:],
            )
        finally:
            stop(process)
    trial.refresh_from_db()
    assert (trial.state, text_of(trial)) == ("done", "hello\n")


def test_in_a_repository_it_starts_from_the_base_and_pushes_nothing(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    origin = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})
    connect(world.project, origin)
    program = "print(open('app.py').read()); open('app.py', 'w').write('x = 2\\n')"
    line = line_of(world, command("build", program), workspace={"git": {"repository": "app"}})
    before = origin.head()
    with untouched():
        trial = trials.start_trial(line, world.admin, asked(line))
        trial = run(bench, trial, repository_roots=(str(tmp_path),))
    assert "x = 1" in text_of(trial)
    assert trial.outcome is not None
    assert trial.outcome["facts"]["git"]["paths"] == ["app.py"]
    assert (origin.head(), origin.files()) == (before, {"app.py": b"x = 1\n"})


@pytest.mark.wide
def test_a_recorded_run_in_a_repository_is_run_again_on_its_branch(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    origin = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})
    connect(world.project, origin)
    first = command("fix", "open('app.py', 'w').write('x = 2\\n')", {"id": "on", "to": "build"})
    git = {"workspace": {"git": {"repository": "app"}}}
    version = world.line(
        document(key="tried", stations=[first, command("build", "print(open('app.py').read())")], **git)
    )
    task = world.start(version)
    drive(bench, task, repository_roots=(str(tmp_path),))
    source = done(task, "build")
    with untouched():
        trial = trials.start_trial(version.line, world.admin, asked(version.line, source=source.pk))
        trial = run(bench, trial, repository_roots=(str(tmp_path),))
    assert "x = 2" in text_of(trial)
    assert (trial.state, origin.files()) == ("done", {"app.py": b"x = 1\n"})


def test_a_call_is_guarded_and_logged_as_of_a_task(world: World, bench: Bench) -> None:
    line = line_of(world, station("build", kind="http", work={"url": "http://127.0.0.1:9/{{input.who}}"}))
    with untouched():
        trial = run(bench, trials.start_trial(line, world.admin, asked(line)))
    assert trial.outcome is not None
    assert trial.outcome["failure_type"] == "template_error"
    line.draft["stations"][0]["work"]["url"] = "http://127.0.0.1:9/"
    trial = run(bench, trials.start_trial(line, world.admin, asked(line)))
    assert trial.outcome is not None
    assert trial.outcome["failure_type"] == "address_refused"
    assert "GET http://127.0.0.1:9/" in text_of(trial)
