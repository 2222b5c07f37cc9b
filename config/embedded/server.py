"""Initialise, start and stop one server. Whoever calls holds the start lock (config.embedded.server_share)."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from config.embedded import binaries, layout, placement, processes
from config.embedded.account import Account, choose
from config.embedded.binaries import Binaries
from config.embedded.errors import LauncherError
from config.embedded.layout import Layout

MAX_LOG_BYTES = 10_000_000
START_SECONDS, STOP_SECONDS = 300, 20  # a start may have a long recovery to do

OPTIONS = {
    "listen_addresses": "",
    "port": str(layout.PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # The usual 4 is that of turning disks: by it whole tables are read where an index has the few rows of a page.
    "random_page_cost": "1.1",
}
THROWAWAY = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "wal_level": "minimal",
    # With wal_level minimal PostgreSQL does not start unless there are no senders.
    "max_wal_senders": "0",
    # A run of the tests has a dozen processes of the product at a time, each with connections of its own.
    "max_connections": "300",
}


def pid_of(place: Layout) -> int | None:
    """The living postmaster of this data folder, whatever postmaster.pid says."""
    pid, _ready = _pid_file(place.data)
    return pid if pid and processes.is_postmaster(pid, place.data) else None


def ensure(home: Path, *, durable: bool) -> Layout:
    """Has the server running when it returns. LauncherError with the end of the server's log if it cannot."""
    place = layout.of(home)
    if pid_of(place) and _pid_file(place.data)[1]:
        return place
    account = choose(place.data)
    layout.set_home_mode(home, account)
    place = placement.settle(place, account)
    server_binaries = placement.reachable(binaries.find(_data_major(place.data)), account)
    if not (place.data / "PG_VERSION").exists():
        _initialise(place, account, server_binaries, durable)
    socket = layout.socket_folder(place.base, account)
    layout.write_record(place, socket=str(socket), user=account.name, durable=durable)
    if not pid_of(place):
        _clean_up_killed(place.data, socket)
        _start(place, account, server_binaries, socket, durable)
    return place


def stop(place: Layout) -> None:
    """Fast shutdown; a server that does not listen is stopped hard, and recovers at its next start."""
    # To PostgreSQL: fast shutdown, immediate shutdown; the last is the system's.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        pid = pid_of(place)
        if pid is None:
            return
        os.kill(pid, number)
        if _wait(lambda: pid_of(place) is None, STOP_SECONDS):
            return


def _start(place: Layout, account: Account, server_binaries: Binaries, socket: Path, durable: bool) -> None:
    # In quotes: the setting is a list, and the path may have a comma or a blank.
    options = OPTIONS | {"unix_socket_directories": f'"{socket}"'} | ({} if durable else THROWAWAY)
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    _rotate_log(place.log)
    with open_log(place) as log:
        position = log.tell()
        pid = spawn([server_binaries.postgres, "-D", place.data, *words], stderr=log, account=account)
    _wait(
        lambda: _pid_file(place.data) == (pid, True) or not processes.is_postmaster(pid, place.data),
        START_SECONDS,
    )
    if _pid_file(place.data) != (pid, True):
        output = place.log.read_bytes()[position:].decode(errors="replace").strip()
        raise LauncherError(
            f"The embedded PostgreSQL did not start. It said:\n{output[-2000:]}",
            f"Its whole log is {place.log}. An existing PostgreSQL can be used instead: set DATABASE_URL.",
        )


def spawn(
    command: Sequence[str | Path], *, stderr: BinaryIO, account: Account | None = None, cwd: str | Path = "/"
) -> int:
    """The pid of a process that nobody waits for: in a session of its own, so that a Ctrl-C meant for us does not
    reach it, and no child of ours, so that it never becomes our zombie."""
    # `>&2`: of the two streams standard output is for the pid alone
    answer = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *map(str, command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        umask=0o077,
        cwd=cwd,
        env=None if account is None else _environment(),
        check=True,
        **(account.subprocess_arguments() if account else {}),
    )
    return int(answer.stdout)


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _initialise(place: Layout, account: Account, server_binaries: Binaries, durable: bool) -> None:
    """Into a folder beside the final one: a data folder that exists is whole."""
    fresh, password_file = place.base / "data.new", place.base / "password.new"
    shutil.rmtree(fresh, ignore_errors=True)
    password = secrets.token_urlsafe(32)
    _private_file(password_file, password)
    account.own(password_file)
    # The builtin provider needs no locale of the system and sorts the same everywhere.
    if server_binaries.major >= 17:
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    else:
        locale = ["--locale=C.UTF-8"]
    words = [
        "--encoding=UTF8",
        *locale,
        "--data-checksums",
        # house §5: a password is asked for even on the socket.
        "--auth=scram-sha-256",
        f"--pwfile={password_file}",
    ]
    words += ["--no-instructions"] if durable else ["--no-instructions", "--no-sync"]
    if server_binaries.major >= 16:
        # Nobody guesses a password of 256 random bits: to stretch it takes 3 ms of each connection for nothing.
        words += ["--set", "scram_iterations=1"]
    try:
        _run([server_binaries.initdb, "-D", fresh, "-U", layout.NAME, *words], account)
        create = f"CREATE DATABASE {layout.NAME};\n"
        _run([server_binaries.postgres, "--single", "-D", fresh, "postgres"], account, standard_input=create)
    finally:
        password_file.unlink()
    place.password.unlink(missing_ok=True)
    _private_file(place.password, password)
    # Last, so that a data folder that exists has its password beside it.
    fresh.rename(place.data)


def _run(command: Sequence[str | Path], account: Account, standard_input: str = "") -> None:
    done = subprocess.run(
        command,
        input=standard_input,
        capture_output=True,
        text=True,
        cwd="/",
        umask=0o077,
        env=_environment(),
        **account.subprocess_arguments(),
    )
    # `postgres --single` ends with 0 even where a statement failed.
    if done.returncode or "ERROR:" in done.stderr:
        raise LauncherError(
            f"{Path(command[0]).name} could not set up the embedded PostgreSQL: {done.stderr.strip()[-2000:]}",
            "Is the disk full, or the folder on a file system without permissions? GATELINE_HOME names another "
            "folder, DATABASE_URL another PostgreSQL.",
        )


def _private_file(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)


def _data_major(data: Path) -> int | None:
    version = data / "PG_VERSION"
    return int(version.read_text().split(".")[0]) if version.exists() else None


def _pid_file(data: Path) -> tuple[int | None, bool]:
    """The pid in postmaster.pid and whether that server says it takes connections."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None, False
    pid = int(lines[0]) if lines and lines[0].strip().isdigit() else None
    # The eighth line of postmaster.pid is the status of the server.
    return pid, len(lines) > 7 and lines[7].strip() == "ready"


def _clean_up_killed(data: Path, socket: Path) -> None:
    """Clean up after a killed postmaster: wait until the processes that it left have ended, since two
    generations on one data folder would destroy it. Its lock files are removed only if their pid lives on
    as another process (or as a zombie): for a dead one PostgreSQL's own check is the safer one."""
    if not _wait(lambda: not processes.workers_of(data), 3):
        for pid in processes.workers_of(data):
            os.kill(pid, signal.SIGQUIT)
        _wait(lambda: not processes.workers_of(data), STOP_SECONDS)
    for lock in (data / "postmaster.pid", socket / f".s.PGSQL.{layout.PORT}.lock"):
        owner = _first_number(lock)
        if owner and _exists(owner):
            lock.unlink()


def _first_number(path: Path) -> int | None:
    first = path.read_text().partition("\n")[0].strip() if path.exists() else ""
    return int(first) if first.isdigit() else None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def open_log(place: Layout) -> BinaryIO:
    return os.fdopen(os.open(place.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def _rotate_log(log: Path) -> None:
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.rename(log.with_suffix(".log.1"))


def _wait(until: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
