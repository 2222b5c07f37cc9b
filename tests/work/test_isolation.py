"""What stands between a station and the rest of the machine, tried by a station that is hostile: with real processes
behind each isolation that this machine has."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.work.handlers import command
from pipelines.work.processes import isolation_choice, landlock
from pipelines.work.processes.installation import unlistable_notices
from pipelines.work.processes.isolation import (
    CannotIsolate,
    Isolation,
    Places,
    folders_without_hidden,
    isolation_places,
    link_folders,
)
from pipelines.work.processes.isolation_choice import (
    bubblewrap_paths,
    choose_isolation,
    packaged_bubblewrap_or_empty,
)
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from tests.waiting import LONG, eventually
from tests.work.conftest import PYTHON, Clock, Collected, alive
from tests.work.isolations import BOTH, isolation_or_skip

HOSTILE = Path(__file__).with_name("hostile.py")
SECRET = "hidden-1d9a7c"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder as the product has it, with everything that a station must not see."""
    data = tmp_path / "project" / ".gateline"
    for folder in ("workspaces/other/1/1.1/workspace", "mail", "artifacts", "postgres/run"):
        (data / folder).mkdir(parents=True)
    for name in (
        "secret-key",
        "postgres-password",
        "mail/gate.eml",
        "workspaces/other/1/1.1/workspace/notes",
    ):
        (data / name).write_text(SECRET)
    (tmp_path / "project" / "code.py").write_text("print('public')")
    return data


@pytest.fixture
def listening(data: Path) -> Iterator[Path]:
    """Where the database's socket would be; a short name, for sockets have short names."""
    path = data / "postgres" / "run" / ".s"
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{here}/.s")
        server.listen()
        yield Path(f"/proc/{os.getpid()}/fd/{here}/.s") if len(str(path)) > 100 else path
    os.close(here)


# Named for this run: another one on the same machine has its own, which a station without isolation must not hit.
STAND_IN = f"standing-in-for-a-worker-{uuid.uuid4()}"


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """A process outside that knows a secret."""
    program = f"import time; '{STAND_IN}'; time.sleep(600)"
    process = subprocess.Popen([PYTHON, "-I", "-c", program], env={"DATABASE_URL": SECRET})
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def around(data: Path) -> Places:
    project = data.parent
    python = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(sys.executable))]
    return isolation_places([*python, project, HOSTILE.parent], [data], Path.home())


@pytest.fixture
def inside(data: Path) -> Attempt:
    found = Attempt(data / "workspaces" / "mine" / "2" / "2.1")
    for folder in (found.workspace, found.temporary, found.result.parent):
        folder.mkdir(parents=True)
    return found


async def in_force(name: str, around: Places, data: Path) -> Isolation:
    return await isolation_or_skip(name, around, data / "workspaces")


def spec(isolation: Isolation, inside: Attempt, *argv: str) -> Spec:
    return Spec(
        kind="command",
        attempt=inside,
        argv=argv,
        env={
            "PATH": os.defpath,
            "HOME": str(inside.workspace),
            "LANG": "C.UTF-8",
            "TMPDIR": str(inside.temporary),
        },
        limits=ProcessLimits(total=60, grace=1),
        isolation=isolation,
    )


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_a_hostile_station_is_refused(
    name: str,
    around: Places,
    data: Path,
    inside: Attempt,
    listening: Path,
    worker: subprocess.Popen[bytes],
    sink: Collected,
) -> None:
    isolation = await in_force(name, around, data)
    what: dict[str, Any] = {
        "read": {
            "key": str(data / "secret-key"),
            "password": str(data / "postgres-password"),
            "mail": str(data / "mail" / "gate.eml"),
            "neighbour": str(data / "workspaces/other/1/1.1/workspace/notes"),
            "shadow": "/etc/shadow",
        },
        "list": {"workspaces": str(data / "workspaces" / "other"), "data": str(data / "mail")},
        "write": {
            "code": str(data.parent / "code.py"),
            "program": str(Path(sys.prefix) / "bin" / "forged"),
            "tmp": "/var/tmp/forged",
        },
        "find": {"root": str(data), "needle": SECRET},
        "needle": SECRET,
        "link": str(data / "secret-key"),
        "pid": worker.pid,
        "kill": STAND_IN,
    }
    if name == "bubblewrap":
        what["connect"] = {"socket": str(data / "postgres" / "run" / ".s")}
    await command.run(spec(isolation, inside, PYTHON, "-I", str(HOSTILE), json.dumps(what)), sink)
    results = json.loads(sink.out)
    assert {key for key, why in results.items() if why is None} == set(), sink.err
    assert set(results) >= {"key", "password", "mail", "neighbour", "environment", "kill", "ptrace", "link"}
    assert (data.parent / "code.py").read_text() == "print('public')"
    assert alive(worker.pid)


async def test_the_same_station_gets_everything_where_nothing_isolates(
    around: Places, data: Path, inside: Attempt, worker: subprocess.Popen[bytes], sink: Collected
) -> None:
    what = {
        "read": {"key": str(data / "secret-key"), "mail": str(data / "mail" / "gate.eml")},
        "list": {"workspaces": str(data / "workspaces" / "other")},
        "find": {"root": str(data), "needle": SECRET},
        "needle": SECRET,
        "link": str(data / "secret-key"),
        "kill": STAND_IN,
    }
    argv = (PYTHON, "-I", str(HOSTILE), json.dumps(what))
    await command.run(spec(Isolation("none", around), inside, *argv), sink)
    assert json.loads(sink.out) == dict.fromkeys(
        [*what["read"], "workspaces", "find", "environment", "link", "kill"]
    )
    assert not alive(worker.pid)


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_an_honest_station_can_do_its_work(
    name: str, around: Places, data: Path, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, around, data)
    program = (
        "import os, socket, ssl, subprocess, sys, tempfile\n"
        f"print(open({str(data.parent / 'code.py')!r}).read())\n"
        "open('kept', 'w').write('x')\n"
        "with tempfile.NamedTemporaryFile() as file: file.write(b'x')\n"
        "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()).close()\n"
        "print(sum(ssl.create_default_context().cert_store_stats().values()) >= 0, os.getcwd())\n"
    )
    outcome = await command.run(spec(isolation, inside, PYTHON, "-I", "-c", program), sink)
    assert outcome["exit_code"] == 0, sink.err
    assert sink.out.decode().split() == ["print('public')", "42", "True", str(inside.workspace)]
    assert (inside.workspace / "kept").read_text() == "x"


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_a_station_behind_isolation_is_stopped_gently_and_then_killed(
    name: str, around: Places, data: Path, inside: Attempt, sink: Collected, clock: Clock
) -> None:
    isolation = await in_force(name, around, data)
    gentle = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), sys.exit(4)))\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    made = spec(isolation, inside, PYTHON, "-I", "-c", gentle)
    running = asyncio.create_task(
        command.run(replace(made, limits=ProcessLimits(total=1.5, grace=LONG)), sink)
    )
    await eventually(lambda: b"ready" in sink.out)
    clock.now += 2
    outcome = await running
    assert (outcome["reason"], outcome["exit_code"]) == ("max_timeout", 4)
    assert sink.out.decode().split() == ["ready", "bye"]


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_the_exit_code_comes_through(
    name: str, around: Places, data: Path, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, around, data)
    outcome = await command.run(spec(isolation, inside, PYTHON, "-I", "-c", "raise SystemExit(9)"), sink)
    assert outcome["exit_code"] == 9


@pytest.mark.isolation
@pytest.mark.parametrize("own", ["absent", "working", "forbidden"])
async def test_the_first_bubblewrap_that_isolates_is_taken_the_systems_before_the_packages(
    own: str, around: Places, data: Path, inside: Attempt, sink: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker finds that of the packages on no PATH; some systems permit name spaces to their own alone."""
    folder = data.parent.parent / "system"
    folder.mkdir()
    program, ours = folder / "bwrap", packaged_bubblewrap_or_empty()
    if not ours:
        pytest.skip("the packages of this machine bring no bubblewrap")
    if own != "absent":
        program.write_text(f'#!/bin/sh\nexec {ours} "$@"\n' if own == "working" else "#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    isolation = await in_force("bubblewrap", around, data)
    assert isolation.program == (str(program) if own == "working" else ours)
    outcome = await command.run(spec(isolation, inside, PYTHON, "-I", "-c", "print('here')"), sink)
    assert (outcome["exit_code"], sink.out) == (0, b"here\n")


@pytest.mark.isolation
async def test_every_bubblewrap_of_this_machine_isolates(
    around: Places, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's, where it has one, and that of the packages."""
    for program in bubblewrap_paths():
        monkeypatch.setattr(isolation_choice, "bubblewrap_paths", lambda program=program: (program,))
        isolation = await in_force("bubblewrap", around, data)
        assert (isolation.program, isolation.cuts_network, isolation.limits_hosts) == (program, True, True)


async def test_where_there_is_no_bubblewrap_it_is_said(
    around: Places, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation_choice, "bubblewrap_paths", lambda: ())
    with pytest.raises(CannotIsolate, match="there is no bubblewrap on this machine"):
        await choose_isolation("bubblewrap", around, data / "workspaces", None)


async def test_without_isolation_everything_is_told_to_be_open(around: Places, data: Path) -> None:
    found = await choose_isolation("none", around, data / "workspaces", None)
    assert found.name == "none"
    assert {"secret", "environment", "neighbour"} <= found.open


async def test_a_prefix_that_does_not_isolate_is_refused(around: Places, data: Path) -> None:
    with pytest.raises(CannotIsolate, match="leaves open"):
        await choose_isolation(["env"], around, data / "workspaces", None)


async def test_a_prefix_that_cannot_be_started_is_refused(around: Places, data: Path) -> None:
    with pytest.raises(CannotIsolate):
        await choose_isolation(["no-such-program"], around, data / "workspaces", None)


def test_what_is_hidden_is_cut_out_of_what_is_readable(tmp_path: Path) -> None:
    for name in ("a/x/secret", "a/y", "b"):
        (tmp_path / name).mkdir(parents=True)
    found = folders_without_hidden(tmp_path, [tmp_path / "a" / "x" / "secret"])
    assert found == [tmp_path / "a" / "y", tmp_path / "b"]


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_a_listed_folder_that_holds_something_hidden_is_named_with_its_remedy(
    name: str, data: Path, inside: Attempt, sink: Collected
) -> None:
    """Under Landlock it cannot be listed, and Python finds no module in it; what lies beside the hidden is seen."""
    project = data.parent
    (project / "tools").mkdir()
    (project / "tools" / "lister.py").write_text("print('found')")
    python = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(sys.executable))]
    isolation = await in_force(name, isolation_places([*python, project], [data], Path.home()), data)
    listing = spec(isolation, inside, PYTHON, "-I", "-c", f"import os; print(os.listdir({str(project)!r}))")
    tools = [f"import sys; sys.path.insert(0, {str(project / 'tools')!r}); import lister"]
    listed = (await command.run(listing, sink))["exit_code"] == 0
    assert [str(project) in notice for notice in unlistable_notices(isolation)] == ([] if listed else [True])
    assert listed is (name == "bubblewrap")
    assert (await command.run(spec(isolation, inside, PYTHON, "-I", "-c", *tools), sink))["exit_code"] == 0


def test_a_machine_without_landlock_says_so() -> None:
    assert landlock.landlock_version_or_zero() >= 0
