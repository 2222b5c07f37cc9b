"""A repository whose conftest.py attacks the machine on which its tests run, behind each isolation that this machine
has: it reaches for the network, for the installation, and for more than its share."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.sign_in_link import is_output_hidden_from_stations
from pipelines.management.commands.worker import configured_station_places
from pipelines.work.handlers import command
from pipelines.work.processes import landlock
from pipelines.work.processes.isolation import Access, Isolation, Places
from pipelines.work.processes.isolation_choice import choose_isolation
from pipelines.work.processes.resources import DEFAULT, Resources, parsed_resources
from pipelines.work.spec.handler_io import Attempt, Outcome, ProcessLimits, Spec
from tests.work.conftest import PYTHON, Collected
from tests.work.isolations import BOTH, isolation_or_skip

HOSTILE = Path(__file__).with_name("hostile_conftest.py")
LINK = "http://127.0.0.1:8000/sign-in/5e1d0c-one-time/"
MIB = 2**20
# A machine whose isolation leaks is not to be brought down by its test: attacks end at these.
FORKS, BYTES = 10_000, 1024 * MIB


@pytest.fixture
def installation(tmp_path: Path, settings: Any) -> Path:
    """A checkout of the product, with what lies in one after a while, from which a worker was started."""
    base = tmp_path / "installation"
    for name, text in {
        "manage.py": "import django",
        "run.log": f"Gateline runs at http://127.0.0.1:8000/ · sign in once, within ten minutes: {LINK}",
        "config/settings.py": "SECRET = 1",
        "pipelines/__init__.py": "",
        "pipelines/work/results/git_changes.py": "",
        "pipelines/work/handlers/command.py": "",
        "pipelines/lines/demo/stations/agent.py": "",
        "pipelines/work/outgoing/guard.py": "",
        ".git/HEAD": "ref: refs/heads/main",
        ".git/packed-refs": "# pack-refs",
        ".git/shallow": "0" * 40,
        ".git/refs/heads/main": "0" * 40,
        ".git/objects/info/packs": "",
        ".git/config": "[remote]",
        ".git/hooks/pre-push": "#!/bin/sh",
        ".git/logs/HEAD": "somebody",
        ".git/modules/other/HEAD": "ref: refs/heads/main",
        ".gateline/secret-key": "key",
        ".gateline/mail/link.eml": LINK,
        ".test-state/notes": "state",
    }.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    settings.BASE_DIR, settings.DATA_DIR = base, base / ".gateline"
    settings.WORKSPACES_DIR = base / ".gateline" / "workspaces"
    settings.WORKSPACES_DIR.mkdir()
    settings.REPOSITORY_ROOTS = [base]
    settings.STATION_PATH = [
        str(base / "pipelines" / "lines" / "demo" / "bin"),
        str(Path(sys.executable).parent),
    ]
    settings.STATION_READABLE = []
    return base


@pytest.fixture
def places(installation: Path) -> Places:
    return configured_station_places()


@pytest.fixture
def inside(installation: Path) -> Attempt:
    """The attempt of a station that runs the tests of the repository."""
    attempt = Attempt(installation / ".gateline" / "workspaces" / "mine" / "1.1")
    for folder in (attempt.workspace, attempt.temporary, attempt.result.parent):
        folder.mkdir(parents=True)
    shutil.copyfile(HOSTILE, attempt.workspace / "conftest.py")
    (attempt.workspace / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    return attempt


async def in_force(name: str, places: Places, inside: Attempt) -> Isolation:
    if name == "none":
        return Isolation("none", places)
    return await isolation_or_skip(name, places, inside.root.parent)


def running(isolation: Isolation, inside: Attempt, attack: str, argument: Any, **more: Any) -> Spec:
    """A station that runs pytest in the workspace."""
    return Spec(
        kind="command",
        attempt=inside,
        argv=(PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        env={
            "PATH": os.defpath,
            "HOME": str(inside.workspace),
            "LANG": "C.UTF-8",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TMPDIR": str(inside.temporary),
            "ATTACK": json.dumps([attack, argument]),
        },
        limits=ProcessLimits(total=120, grace=1),
        isolation=isolation,
        **{"access": Access(network=False), **more},
    )


def got(inside: Attempt) -> Any:
    return json.loads((inside.workspace / "got.json").read_text())


# The network


def called(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_without_the_network_no_service_of_this_machine_is_reached(
    name: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    assert isolation.cuts_network
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        await command.run(running(isolation, inside, "tcp", port), sink)
        assert "refused" in got(inside)
        assert not called(server)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        await command.run(running(isolation, inside, "udp", datagrams.getsockname()[1]), sink)
        with pytest.raises(BlockingIOError):
            datagrams.recv(100)


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_without_the_network_no_nameless_socket_is_reached(
    name: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    if name == "landlock" and landlock.landlock_version_or_zero() < 6:
        pytest.skip("this kernel's Landlock does not know sockets without a file")
    with socket.socket(socket.AF_UNIX) as server:
        hidden = f"gateline-{uuid.uuid4()}"
        server.bind(f"\0{hidden}")
        server.listen()
        await command.run(running(isolation, inside, "abstract", hidden), sink)
    assert "refused" in got(inside)


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.isolation
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, 16, 17, 40])
async def test_behind_landlock_no_kind_of_network_socket_can_be_made(
    family: int, places: Places, inside: Attempt, sink: Collected
) -> None:
    """IPv4, IPv6, netlink, packets, and the socket of virtual machines."""
    isolation = await in_force("landlock", places, inside)
    await command.run(running(isolation, inside, "raw", int(family)), sink)
    assert "PermissionError" in got(inside)["refused"]


@pytest.mark.isolation
async def test_behind_bubblewrap_a_suite_may_still_serve_itself(
    places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force("bubblewrap", places, inside)
    outcome = await command.run(running(isolation, inside, "own_loopback", None), sink)
    assert (got(inside), outcome["exit_code"]) == ("served", 0)


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.isolation
@pytest.mark.parametrize("name", [*BOTH, "none"])
async def test_with_the_network_the_same_repository_reaches_it(
    name: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        attack = running(isolation, inside, "udp", datagrams.getsockname()[1], access=Access(network=True))
        await command.run(attack, sink)
        assert datagrams.recv(100) == b"stolen"


async def test_where_nothing_isolates_the_network_is_known_to_be_open(
    places: Places, inside: Attempt
) -> None:
    found = await choose_isolation("none", places, inside.root.parent, None)
    assert "network" in found.open and not found.isolation.cuts_network


# The installation


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_of_the_installation_only_programs_are_seen(
    name: str, installation: Path, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    outcome = await command.run(running(isolation, inside, "files", files(installation)), sink)
    mine = str(inside.root)
    assert outcome["exit_code"] == 0
    assert [file for file in got(inside) if not file.startswith(mine)] == [
        str(installation / path)
        for path in (
            "pipelines/lines/demo/stations/agent.py",
            "pipelines/work/results/git_changes.py",
        )
    ]


@pytest.mark.smoke(4)
@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("allowed", "shown"),
    [
        (".", {"HEAD", "packed-refs", "shallow", "refs/heads/main", "objects/info/packs"}),
        (".git", {"HEAD", "packed-refs", "shallow", "refs/heads/main", "objects/info/packs"}),
        (".git/modules/other", set()),
        (".git/hooks", set()),
        ("..", set()),
    ],
)
async def test_a_station_that_may_read_the_installation_sees_of_its_git_the_commits_alone(
    name: str,
    allowed: str,
    shown: set[str],
    installation: Path,
    places: Places,
    inside: Attempt,
    sink: Collected,
) -> None:
    isolation = await in_force(name, places, inside)
    folder = (installation / allowed).resolve()
    naming = Access(network=False, repositories=(folder,))
    await command.run(running(isolation, inside, "files", files(installation), access=naming), sink)
    seen = {Path(file).relative_to(installation) for file in got(inside)}
    assert {str(file.relative_to(".git")) for file in seen if file.parts[0] == ".git"} == shown
    assert {file.parts[0] for file in seen} - {".git"} == {".gateline", "pipelines"}
    assert all(file.startswith(str(inside.root)) for file in got(inside) if "/.gateline/" in file)


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_the_git_of_the_installation_is_not_listed_by_a_setting(
    name: str, installation: Path, settings: Any, inside: Attempt, sink: Collected
) -> None:
    settings.STATION_READABLE = [installation / ".git", installation / ".git" / "config"]
    isolation = await in_force(name, configured_station_places(), inside)
    await command.run(running(isolation, inside, "files", files(installation)), sink)
    assert not [file for file in got(inside) if "/.git/" in file]


@pytest.mark.isolation
@pytest.mark.parametrize("name", BOTH)
async def test_nothing_is_written_outside_of_the_attempt(
    name: str, installation: Path, places: Places, inside: Attempt, sink: Collected
) -> None:
    """Nor where a sandbox would keep it in memory."""
    isolation = await in_force(name, places, inside)
    tried = [
        "/",
        "/dev",
        str(installation),
        str(installation / ".gateline"),
        "/etc",
        "/usr",
        str(inside.temporary),
    ]
    await command.run(running(isolation, inside, "elsewhere", tried), sink)
    assert got(inside) == [str(inside.temporary)]


def files(installation: Path) -> list[str]:
    return sorted(str(place) for place in installation.rglob("*") if place.is_file())


@pytest.mark.parametrize(
    ("name", "isolation", "private"),
    [
        ("run.log", "bubblewrap", True),
        ("run.log", "landlock", True),
        (".gateline/run.log", "landlock", True),
        # In a folder that every station may read, and where stations may read everything.
        ("pipelines/lines/demo/run.log", "bubblewrap", False),
        ("run.log", "none", False),
        ("run.log", "prefix", False),
        ("run.log", "", False),
    ],
)
def test_a_sign_in_link_is_written_where_no_station_reads(
    name: str, isolation: str, private: bool, installation: Path, places: Places
) -> None:
    with (installation / name).open("w") as log:
        assert is_output_hidden_from_stations(log.fileno(), isolation, places) is private


def test_a_sign_in_link_is_written_to_no_file_but_a_pipe(places: Places) -> None:
    reading, writing = os.pipe()
    assert is_output_hidden_from_stations(writing, "none", places)
    os.close(reading)
    os.close(writing)


# More than its share

SMALL = Resources(cpu_seconds=60, memory_mb=300, processes=48, disk_mb=24)


@pytest.mark.smoke(3)
@pytest.mark.isolation
@pytest.mark.parametrize("name", [*BOTH, "none"])
@pytest.mark.parametrize(
    ("attack", "argument", "words"),
    [
        ("forks", FORKS, "48 processes"),
        ("threads", FORKS, "48 processes"),
        ("memory", BYTES, "300 MB of memory"),
        ("shared_memory", BYTES, "300 MB of memory"),
        ("many_files", 64 * MIB, "24 MB of disk"),
        ("one_file", 64 * MIB, "24 MB of disk"),
        ("files_below_the_longest_path", 64 * MIB, "24 MB of disk"),
        ("nameless_files", 64 * MIB, "24 MB of disk"),
        ("in_memory_files", 64 * MIB, "24 MB of disk"),
    ],
)
async def test_a_repository_that_takes_too_much_is_stopped_with_its_reason(
    name: str, attack: str, argument: int, words: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    outcome = await command.run(running(isolation, inside, attack, argument, resources=SMALL), sink)
    refused_as(outcome, words)
    assert any(words in note for note in sink.notes)


@pytest.mark.smoke(1)
@pytest.mark.isolation
@pytest.mark.parametrize("name", [*BOTH, "none"])
@pytest.mark.parametrize("attack", ["spin", "spin_in_children"])
async def test_a_repository_that_burns_the_processor_is_stopped(
    name: str, attack: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    little = replace(SMALL, cpu_seconds=2)
    outcome = await command.run(running(isolation, inside, attack, None, resources=little), sink)
    refused_as(outcome, "2 s of processor time")


@pytest.mark.wide
@pytest.mark.smoke(1)
@pytest.mark.isolation
@pytest.mark.parametrize("name", [*BOTH, "none"])
async def test_a_repository_opens_no_more_files_than_it_may(
    name: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    isolation = await in_force(name, places, inside)
    await command.run(running(isolation, inside, "open_files", 100_000), sink)
    assert "Too many open files" in got(inside)["refused"]


@pytest.mark.parametrize("attack", ["children_share"])
async def test_memory_that_processes_share_counts_once(
    attack: str, places: Places, inside: Attempt, sink: Collected
) -> None:
    made = running(Isolation("none", places), inside, attack, 80 * MIB, resources=SMALL)
    outcome = await command.run(made, sink)
    assert outcome["exit_code"] == 0, outcome
    assert got(inside) == "done"


def refused_as(outcome: Outcome, words: str) -> None:
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "resource_limit")
    assert words in outcome["summary"] and "resources" in outcome["summary"]


async def test_what_a_station_says_of_itself_does_not_outlast_its_limit(
    places: Places, inside: Attempt, sink: Collected
) -> None:
    program = (
        "import json, os\n"
        "open(os.environ['GATELINE_RESULT'], 'w').write(json.dumps({'verdict': 'pass', 'eval': 'ok'}))\n"
        f"open('large', 'wb').write(b'x' * {26 * MIB})\n"
    )
    made = replace(
        running(Isolation("none", places), inside, "", None, resources=replace(SMALL, disk_mb=20)),
        argv=(PYTHON, "-I", "-c", program),
    )
    made = replace(made, env={**made.env, "GATELINE_RESULT": str(inside.result)})
    outcome = await command.run(made, sink)
    refused_as(outcome, "20 MB of disk")
    assert (outcome["verdict"], outcome["eval"]) == ("fail", "error")


def test_limits_of_a_setting_are_read_and_faults_named() -> None:
    assert parsed_resources({"memory_mb": "64"}) == replace(DEFAULT, memory_mb=64)
    for words in ({"memory": "64"}, {"memory_mb": "0"}, {"disk_mb": "lots"}, {"processes": "-1"}):
        with pytest.raises(ValueError, match=next(iter(words))):
            parsed_resources(words)
