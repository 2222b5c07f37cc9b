"""The table of SECURITY.md, cell by cell: what a station can do behind each isolation, on the whole product. A worker
process starts three stations of one line, which differ in their network, and each tries everything."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import pty
import re
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from django.conf import settings

from pipelines.models import Job
from pipelines.work import logs
from pipelines.work.processes import landlock
from pipelines.work.processes.isolation import isolation_places, link_folders
from tests.factories import World, document, station
from tests.fixtures.site import ROOT, Site, environment, manage, stop
from tests.waiting import until
from tests.work.isolations import BOTH, isolation_or_skip
from tests.work.remotes import allow

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves, pytest.mark.isolation]
PROGRAM: Final = Path(__file__).with_name("isolation_attempts.py")
NETWORKS: Final[Mapping[str, Any]] = {
    "none": "none",
    "hosts": {"egress": ["example.invalid"]},
    "open": "open",
}
CLOSED, ANY = ("none", "hosts"), tuple(NETWORKS)
AS_A_USER: Final = (
    "import sys, time; sys.path.append(sys.argv[1]); from pipelines.work.processes.landlock import drop_capabilities; "
    "drop_capabilities(); time.sleep(600)"
)
"""A program as an ordinary user has it: of root's, who has none of its rights may not even lower the priority."""
SCOPES: Final = 6
"""The version of Landlock that keeps signals and sockets without a file apart."""
ROWS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "read keys, passwords, mail and artifacts of the installation, or another station’s files": (
        "secrets",
        ANY,
    ),
    "read the code of the installation, but for the programs that stations need": ("installation", ANY),
    "read settings, hooks, logs or the index of the installation’s `.git`": ("git", ANY),
    "read its `objects`, `refs`, `packed-refs`, `shallow` and `HEAD`, where its owner was allowed this folder": (
        "commits",
        ANY,
    ),
    "find out whether there is a file of a certain name": ("names", ANY),
    "write outside its own folder": ("write", ANY),
    "change the mode or the times of a file outside, whose name it knows": ("mode", ANY),
    "read the command line of a program outside": ("command_line", ANY),
    "read its environment": ("environment", ANY),
    "read or change its memory": ("memory", ANY),
    "send it a signal": ("signal", ANY),
    "change its limits": ("limit", ANY),
    "make it slower: its priority and its processors": ("priority", ANY),
    "find out whether there is a program of a certain number": ("number", ANY),
    "read and write a terminal of the worker’s user": ("terminal", ANY),
    "leave a file in `/dev/shm` to whoever comes next": ("left_file", ANY),
    "leave shared memory, semaphores or messages": ("left_segments", ANY),
    "make a namespace by `unshare`": ("unshare", ANY),
    "make one by `clone`": ("clone", ANY),
    "make one by `clone3`": ("clone3", ANY),
    "enter one by `setns`": ("setns", ANY),
    "open a netlink socket": ("netlink", ANY),
    "open a vsock socket": ("vsock", ANY),
    "use the kernel’s keyrings (`keyctl`)": ("keyctl", ANY),
    "load a program into the kernel (`bpf`)": ("bpf", ANY),
    "use `io_uring`": ("io_uring", ANY),
    "read the kernel’s log": ("kernel_log", ANY),
    "change settings of the kernel (`/proc/sys`)": ("kernel_settings", ANY),
    "reach a service of this machine, where its network is not `open`": ("service", CLOSED),
    "reach a service of this machine, where its network is `open`": ("service", ("open",)),
    "see the connections of this machine, where its network is not `open`": ("connections", CLOSED),
    "see the connections of this machine, where its network is `open`": ("connections", ("open",)),
    "reach a socket in a file that it does not see, such as the database’s": ("file_socket", ANY),
    "reach a socket without a file, where its network is not `open`": ("nameless_socket", CLOSED),
    "reach a socket without a file, where its network is `open`": ("nameless_socket", ("open",)),
}
"""{sentence of the table: the attempt, and the networks of the stations that it holds for}"""


def table() -> dict[str, dict[str, str]]:
    """Return what SECURITY.md says, {sentence: {isolation: yes or no}}."""
    text = (ROOT / "SECURITY.md").read_text().partition("| A station can … |")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")[2:]]
    return {sentence: dict(zip(BOTH, words, strict=True)) for sentence, *words in cells}


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What is on the machine besides the station, and is tried."""
    needle, name = f"needle-{uuid.uuid4().hex}", f"gateline-{uuid.uuid4().hex}"
    program = [sys.executable, "-I", "-c", AS_A_USER, str(ROOT), needle]
    with ExitStack() as open_places:
        process = subprocess.Popen(program, env={"SECRET": needle})
        open_places.callback(process.wait)
        open_places.callback(process.kill)
        master, slave = pty.openpty()
        for end in (master, slave):
            open_places.callback(os.close, end)
        server = open_places.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
        in_file = open_places.enter_context(socket.socket(socket.AF_UNIX))
        file = Path(open_places.enter_context(short_folder())) / "socket"
        in_file.bind(str(file))
        nameless = open_places.enter_context(socket.socket(socket.AF_UNIX))
        nameless.bind(f"\0{name}")
        for listener in (in_file, nameless):
            listener.listen(100)
        yield {
            "needle": needle,
            "process": process.pid,
            "terminal": os.ttyname(slave),
            "terminal_file": os.fstat(slave).st_ino,
            "port": server.getsockname()[1],
            "socket": str(file),
            "nameless": name,
            "left": name,
            "key": uuid.uuid4().int % 2**30 + 1,
        }


def short_folder() -> TemporaryDirectory[str]:
    """A folder for a socket, whose path may have a hundred characters."""
    return TemporaryDirectory(prefix="gl-", dir="/var/tmp")


def left_behind(what: Mapping[str, Any]) -> dict[str, bool]:
    """Return what a station left on the machine, and remove it."""
    file, libc = Path("/dev/shm", what["left"]), ctypes.CDLL(None)
    found = {"left_file": file.exists(), "left_segments": libc.mq_unlink(what["left"].encode()) == 0}
    file.unlink(missing_ok=True)
    for kind, removed in (("shm", "-M"), ("sem", "-S"), ("msg", "-Q")):
        keys = [line.split()[0] for line in Path("/proc/sysvipc", kind).read_text().splitlines()[1:]]
        if str(what["key"]) in keys:
            found["left_segments"] = True
            subprocess.run(["ipcrm", removed, str(what["key"])], check=True)
    return found


@pytest.fixture(params=BOTH)
def isolated(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> Iterator[str]:
    """The name of the isolation behind which a worker runs."""
    python = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(sys.executable))]
    asyncio.run(isolation_or_skip(request.param, isolation_places(python, [], tmp_path), tmp_path / "tried"))
    env = environment(GATELINE_ISOLATION=request.param, GATELINE_STATION_READABLE=str(PROGRAM))
    process = manage("worker", log=tmp_path / "worker.log", env=env, alone=True)
    yield request.param
    stop(process)


def tried(world: World, what: Mapping[str, Any], log: Path) -> dict[str, dict[str, bool]]:
    """Return {network: {attempt: whether it succeeded}}, from the logs of three stations of one line."""
    argv = ["python", "-I", str(PROGRAM), json.dumps(what)]
    keys = list(NETWORKS)
    stations = [
        station(
            f"try-{key}",
            {"id": f"on-{key}", "to": following},
            kind="command",
            work={"argv": argv, "network": NETWORKS[key]},
        )
        for key, following in zip(keys, [*(f"try-{key}" for key in keys[1:]), "completed"], strict=True)
    ]
    task = world.start(world.line(document(stations, "attempts")))
    until(lambda: world.status(task) == "completed", log.read_text)
    return {
        key: json.loads(
            re.search(
                r"attempts:(\{.*\})",
                "".join(logs.read_log_text(Job.objects.get(task=task, station=f"try-{key}"), 1)),
            )[1]  # type: ignore[index]
        )
        for key in keys
    }


def test_every_cell_of_the_table_is_so(
    world: World, isolated: str, outside: dict[str, Any], tmp_path: Path
) -> None:
    data, neighbour = Path(settings.DATA_DIR), Path(settings.WORKSPACES_DIR) / "another-worker" / "7"
    for folder in (data / "mail", data / "artifacts", neighbour):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "canary").write_text("gateline")
    git = ROOT / ".git"
    allow(world.project.owner, ROOT)
    what = outside | {
        "secrets": [
            *(str(data / name) for name in ("secret-key", "postgres-password", "mail", "artifacts")),
            str(neighbour / "canary"),
            "/etc/shadow",
        ],
        "installation": [
            str(ROOT / name) for name in ("manage.py", "config/settings.py", "tests/conftest.py")
        ],
        "git": [str(git / name) for name in ("config", "hooks", "logs", "index", "info")],
        "commits": [str(git / name) for name in ("objects", "refs", "HEAD")],
        "folders": [str(ROOT), str(data), sys.prefix, "/var/tmp", "/tmp/..", "/dev/shm/.."],
    }
    done = tried(world, what, tmp_path / "worker.log")
    left = left_behind(what)
    done = {network: attempts | left for network, attempts in done.items()}
    said = table()
    assert list(said) == list(ROWS)
    rows = dict(ROWS)
    if isolated == "landlock" and landlock.landlock_version_or_zero() < SCOPES:
        rows = {
            sentence: row for sentence, row in ROWS.items() if row[0] not in ("signal", "nameless_socket")
        }
    found = {
        sentence: {"yes" if done[network][attempt] else "no" for network in networks}
        for sentence, (attempt, networks) in rows.items()
    }
    assert found == {sentence: {said[sentence][isolated]} for sentence in rows}
