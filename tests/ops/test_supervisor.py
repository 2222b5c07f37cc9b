"""The supervisor with real children: started again always, stopped together, never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from config import up
from tests.ops.processes import ROOT, clean_environment, living_in, nothing_left, on_linux
from tests.waiting import LONG, until

pytestmark = on_linux

SUPERVISOR = """
import os, sys
from config import supervisor
from config.supervisor import ProcessSupervisor
if len(sys.argv) > 2: supervisor.STOP_SECONDS = float(sys.argv[2])
child = [sys.executable, sys.argv[1]]
say = lambda text: print(text, flush=True)
children = {"one": [*child, "one"], "two": [*child, "two"]}
ProcessSupervisor(environment=os.environ, say=say).run(lambda: children)
"""

CHILD = """
import os, pathlib, signal, sys, time
from config import lifeline
lifeline.GRACE_SECONDS = 1.0
lifeline.watch_supervisor()
folder, name = pathlib.Path(sys.argv[0]).parent, sys.argv[1]
if (folder / "stubborn").exists():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
(folder / f"{name}.{os.getpid()}").touch()
while not (folder / f"leave-{name}").exists():
    time.sleep(0.02)
(folder / f"leave-{name}").unlink()
"""

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    (tmp_path / "child.py").write_text(CHILD)
    with ExitStack() as stack:
        stack.enter_context(nothing_left(tmp_path))

        def go(*stop_seconds: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-c", SUPERVISOR, str(tmp_path / "child.py"), *stop_seconds],
                cwd=ROOT,
                env=clean_environment(PYTHONPATH=str(ROOT)),
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            until(
                lambda: process.poll() is not None or (pids(tmp_path, "one") and pids(tmp_path, "two")),
                what="both children",
            )
            assert process.poll() is None
            return process

        yield go


def pids(folder: Path, name: str) -> list[int]:
    return [int(path.suffix[1:]) for path in folder.glob(f"{name}.*")]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_ends_it_and_its_children(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    process = start()
    process.send_signal(number)
    assert process.wait(LONG) == 0
    assert not living_in(tmp_path)


def test_ctrl_c_of_a_terminal_reaches_the_supervisor_alone(start: Start, tmp_path: Path) -> None:
    process = start()
    groups = {os.getpgid(pid) for pid in [*pids(tmp_path, "one"), *pids(tmp_path, "two")]}
    assert os.getpgid(process.pid) not in groups


def test_a_child_that_leaves_with_0_is_started_again(start: Start, tmp_path: Path) -> None:
    start()
    (tmp_path / "leave-one").touch()
    until(lambda: len(pids(tmp_path, "one")) == 2, what="the second start")
    assert len(pids(tmp_path, "two")) == 1


def test_a_killed_child_is_started_again(start: Start, tmp_path: Path) -> None:
    start()
    os.kill(pids(tmp_path, "two")[0], signal.SIGKILL)
    until(lambda: len(pids(tmp_path, "two")) == 2, what="the second start")


def test_the_children_of_a_killed_supervisor_end(start: Start, tmp_path: Path) -> None:
    process = start()
    process.kill()
    until(lambda: not living_in(tmp_path), what="the end of the children")


@pytest.mark.wide
def test_even_a_child_that_ignores_the_request_ends_with_its_supervisor(start: Start, tmp_path: Path) -> None:
    (tmp_path / "stubborn").touch()
    process = start()
    process.kill()
    until(lambda: not living_in(tmp_path), what="the end of the children")


def test_a_second_ctrl_c_does_not_wait(start: Start, tmp_path: Path) -> None:
    (tmp_path / "stubborn").touch()
    process = start(str(10 * LONG))
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert b"Stopping" in process.stdout.readline()  # two signals at once would be one
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG) == 0
    assert not living_in(tmp_path)


def test_there_are_as_many_workers_as_are_asked_for() -> None:
    started = up.worker_commands(3)
    assert list(started) == ["worker", "worker 2", "worker 3"]
    assert {command[2] for command in started.values()} == {"worker"}
    names = [command[4:] for command in started.values()]
    assert names[0] == [] and [name[0].rpartition(" ")[2] for name in names[1:]] == ["2", "3"]


EARLY = """
import os, pathlib, sys, time
from config.supervisor import ProcessSupervisor
folder = pathlib.Path(sys.argv[1]).parent
children = {"one": [sys.executable, sys.argv[1], "one"]}
supervisor = ProcessSupervisor(environment=os.environ, say=lambda text: print(text, flush=True))
def commands():
    supervisor.start_early(children)
    while not (folder / "prepared").exists():
        if (folder / "broken").exists():
            sys.exit(3)
        time.sleep(0.02)
    return children
supervisor.run(commands)
"""

EARLY_CHILD = """
import os, pathlib, sys, time
from config import lifeline, readiness
lifeline.watch_supervisor()
folder, name = pathlib.Path(sys.argv[0]).parent, sys.argv[1]
(folder / f"loaded.{os.getpid()}").touch()
if readiness.must_wait_for_database():
    readiness.wait_for_database()
(folder / f"{name}.{os.getpid()}").touch()
while True:
    time.sleep(0.02)
"""


@pytest.fixture
def early(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor whose child has loaded, and waits for the database."""
    (tmp_path / "child.py").write_text(EARLY_CHILD)
    with nothing_left(tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-c", EARLY, str(tmp_path / "child.py")],
            cwd=ROOT,
            env=clean_environment(PYTHONPATH=str(ROOT)),
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        until(lambda: pids(tmp_path, "loaded"), what="the child")
        yield process
        process.kill()
        process.wait()


def test_a_child_that_starts_early_waits_for_the_database_and_its_successor_does_not(
    early: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert not pids(tmp_path, "one")
    (tmp_path / "prepared").touch()
    until(lambda: pids(tmp_path, "one"), what="the end of the wait")
    assert pids(tmp_path, "one") == pids(tmp_path, "loaded"), "the process that had loaded"
    os.kill(pids(tmp_path, "one")[0], signal.SIGKILL)
    until(lambda: len(pids(tmp_path, "one")) == 2, what="the one that is started in its place")


def test_a_child_that_waits_ends_where_the_database_cannot_be_prepared(
    early: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "broken").touch()
    assert early.wait(LONG) == 3
    assert not living_in(tmp_path)
    assert not pids(tmp_path, "one"), "it used what was not there"
