"""Initialise, start and stop one server. Whoever calls holds the start lock (config.embedded.server_share)."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from config.embedded import binaries, layout, processes
from config.embedded.account import Account, choose_account
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
    # The usual 200 ms wake two processes five times a second, for nothing where nothing happens: commits flush their
    # own log. As many pages a second are written as usual.
    "bgwriter_delay": "10s",
    "bgwriter_lru_maxpages": "5000",
    "wal_writer_delay": "10s",
    # Nobody follows this server: the usual level has a process write the state of transactions every 15 s. With minimal
    # PostgreSQL does not start unless there are no senders.
    "wal_level": "minimal",
    "max_wal_senders": "0",
}
THROWAWAY = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    # A run of the tests has a dozen processes of the product at a time, each with connections of its own.
    "max_connections": "300",
}


def living_postmaster_pid_or_none(server_layout: Layout) -> int | None:
    """The living postmaster of this data folder, whatever postmaster.pid says."""
    pid, _ready = _pid_and_readiness_in_file(server_layout.data_folder)
    return pid if pid and processes.is_postmaster(pid, server_layout.data_folder) else None


def ensure_running_and_return_layout(home: Path, *, durable: bool) -> Layout:
    """Has the server running when it returns. LauncherError with the end of the server's log if it cannot."""
    place = layout.recorded_or_planned_layout(home)
    if living_postmaster_pid_or_none(place) and _pid_and_readiness_in_file(place.data_folder)[1]:
        return place
    account = choose_account(place.data_folder)
    layout.set_home_mode(home, account)
    place = layout_with_settled_base(place, account)
    server_binaries = reachable_or_copied_binaries(
        binaries.find_binaries(_major_version_of_data_or_none(place.data_folder)), account
    )
    if not (place.data_folder / "PG_VERSION").exists():
        _create_data_folder(place, account, server_binaries, durable)
    socket = layout.socket_folder(place.base, account)
    layout.write_record(place, socket=str(socket), user=account.name, durable=durable)
    # It may be up already, and only not ready yet
    if not living_postmaster_pid_or_none(place):
        _clean_up_after_killed_server(place.data_folder, socket)
        _start_server(place, account, server_binaries, socket, durable)
    return place


def stop_server(server_layout: Layout) -> None:
    """Fast shutdown; a server that does not listen is stopped hard, and recovers at its next start."""
    # To PostgreSQL: fast shutdown, immediate shutdown; the last is the system's.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        pid = living_postmaster_pid_or_none(server_layout)
        if pid is None:
            return
        os.kill(pid, number)
        if _wait_until_or_time_out(
            lambda: living_postmaster_pid_or_none(server_layout) is None, STOP_SECONDS
        ):
            return


def _start_server(
    server_layout: Layout, account: Account, server_binaries: Binaries, socket: Path, durable: bool
) -> None:
    # In quotes: the setting is a list, and the path may have a comma or a blank.
    options = OPTIONS | {"unix_socket_directories": f'"{socket}"'} | ({} if durable else THROWAWAY)
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    _rotate_log(server_layout.log_file)
    with open_log(server_layout) as log:
        position = log.tell()
        pid = spawn_detached_and_return_pid(
            [server_binaries.postgres, "-D", server_layout.data_folder, *words], stderr=log, account=account
        )
    _wait_until_or_time_out(
        lambda: (
            _pid_and_readiness_in_file(server_layout.data_folder) == (pid, True)
            or not processes.is_postmaster(pid, server_layout.data_folder)
        ),
        START_SECONDS,
    )
    if _pid_and_readiness_in_file(server_layout.data_folder) != (pid, True):
        output = server_layout.log_file.read_bytes()[position:].decode(errors="replace").strip()
        raise LauncherError(
            f"The embedded PostgreSQL did not start. It said:\n{output[-2000:]}",
            f"Its whole log is {server_layout.log_file}. An existing PostgreSQL can be used instead: set DATABASE_URL.",
        )


def spawn_detached_and_return_pid(
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
        env=None if account is None else _server_environment(),
        check=True,
        **(account.subprocess_arguments() if account else {}),
    )
    return int(answer.stdout)


def _server_environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _create_data_folder(
    server_layout: Layout, account: Account, server_binaries: Binaries, durable: bool
) -> None:
    """Into a folder beside the final one: a data folder that exists is whole."""
    fresh, password_file = server_layout.base / "data.new", server_layout.base / "password.new"
    shutil.rmtree(fresh, ignore_errors=True)
    password = secrets.token_urlsafe(32)
    _write_private_file(password_file, password)
    account.give_ownership_if_other_user(password_file)
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
        _run_as_account([server_binaries.initdb, "-D", fresh, "-U", layout.NAME, *words], account)
        create = f"CREATE DATABASE {layout.NAME};\n"
        _run_as_account(
            [server_binaries.postgres, "--single", "-D", fresh, "postgres"], account, standard_input=create
        )
    finally:
        password_file.unlink()
    server_layout.password_file.unlink(missing_ok=True)
    _write_private_file(server_layout.password_file, password)
    # Last, so that a data folder that exists has its password beside it.
    fresh.rename(server_layout.data_folder)


def _run_as_account(command: Sequence[str | Path], account: Account, standard_input: str = "") -> None:
    done = subprocess.run(
        command,
        input=standard_input,
        capture_output=True,
        text=True,
        cwd="/",
        umask=0o077,
        env=_server_environment(),
        **account.subprocess_arguments(),
    )
    # `postgres --single` ends with 0 even where a statement failed.
    if done.returncode or "ERROR:" in done.stderr:
        raise LauncherError(
            f"{Path(command[0]).name} could not set up the embedded PostgreSQL: {done.stderr.strip()[-2000:]}",
            "Is the disk full, or the folder on a file system without permissions? GATELINE_HOME names another "
            "folder, DATABASE_URL another PostgreSQL.",
        )


def _write_private_file(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)


def _major_version_of_data_or_none(data: Path) -> int | None:
    version = data / "PG_VERSION"
    return int(version.read_text().split(".")[0]) if version.exists() else None


def _pid_and_readiness_in_file(data: Path) -> tuple[int | None, bool]:
    """The pid in postmaster.pid and whether that server says it takes connections."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None, False
    pid = int(lines[0]) if lines and lines[0].strip().isdigit() else None
    # The eighth line of postmaster.pid is the status of the server.
    return pid, len(lines) > 7 and lines[7].strip() == "ready"


def _clean_up_after_killed_server(data: Path, socket: Path) -> None:
    """Clean up after a killed postmaster: wait until the processes that it left have ended, since two
    generations on one data folder would destroy it. Its lock files are removed only if their pid lives on
    as another process (or as a zombie): for a dead one PostgreSQL's own check is the safer one."""
    if not _wait_until_or_time_out(lambda: not processes.processes_in_folder(data), 3):
        for pid in processes.processes_in_folder(data):
            # Two generations of processes on one data folder would destroy it
            os.kill(pid, signal.SIGQUIT)
        _wait_until_or_time_out(lambda: not processes.processes_in_folder(data), STOP_SECONDS)
    for lock in (data / "postmaster.pid", socket / f".s.PGSQL.{layout.PORT}.lock"):
        owner = _number_in_first_line_or_none(lock)
        # Of a dead process PostgreSQL's own check is the safer one
        if owner and _process_exists(owner):
            lock.unlink()


def _number_in_first_line_or_none(path: Path) -> int | None:
    first = path.read_text().partition("\n")[0].strip() if path.exists() else ""
    return int(first) if first.isdigit() else None


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def open_log(server_layout: Layout) -> BinaryIO:
    return os.fdopen(os.open(server_layout.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def _rotate_log(log: Path) -> None:
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.rename(log.with_suffix(".log.1"))


def _wait_until_or_time_out(until: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# Placement of data and binaries when the user who runs the server cannot reach the project's folder.


SHARED = (Path("/var/lib/gateline"), Path("/var/tmp/gateline"))


def layout_with_settled_base(server_layout: Layout, account: Account) -> Layout:
    """Return the layout with the server's own folder: in the state folder if the server's user can enter it,
    otherwise in a shared place."""
    if (server_layout.data_folder / "PG_VERSION").exists():
        return server_layout
    base = server_layout.base
    if account.switch and not account.can_enter(server_layout.home):
        name = hashlib.sha256(os.fsencode(server_layout.home)).hexdigest()[:12]
        base = _shared_folder(account) / f"{name}-{secrets.token_hex(4)}"
    base.mkdir(mode=0o700, exist_ok=True)
    base.chmod(0o700)
    account.give_ownership_if_other_user(base)
    return Layout(server_layout.home, base)


def reachable_or_copied_binaries(binaries: Binaries, account: Account) -> Binaries:
    """The same binaries, copied where the account can run them if it cannot where they are."""
    if not account.switch or _can_run_binaries(binaries, account):
        return binaries
    # With its time: a PostgreSQL that was upgraded in its folder is copied anew
    stamp = f"{binaries.folder}{binaries.postgres.stat().st_mtime_ns}"
    target = (
        _shared_folder(account)
        / f"postgresql-{binaries.major}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    )
    if not target.exists() and binaries.bundle:
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
        for part in binaries.bundle:
            depth = part.relative_to(binaries.bundle[0].parent.parent)
            shutil.copytree(part, unfinished / depth, symlinks=True)
        unfinished.chmod(0o755)
        # By rename: what has the final name is whole.
        unfinished.rename(target)
    copy = Binaries(target / binaries.folder.relative_to(binaries.folder.parents[2]), binaries.major)
    if not binaries.bundle or not _can_run_binaries(copy, account):
        raise LauncherError(
            f"The user {account.name} cannot run {binaries.postgres}.",
            "Start Gateline as an ordinary user, or name a PostgreSQL that everybody may run in PG_BIN.",
        )
    return copy


def _can_run_binaries(binaries: Binaries, account: Account) -> bool:
    try:
        tried = subprocess.run(
            [binaries.postgres, "-V"], capture_output=True, cwd="/", **account.subprocess_arguments()
        )
    except PermissionError:
        return False
    return tried.returncode == 0


def _shared_folder(account: Account) -> Path:
    for folder in SHARED:
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError:
            continue
        # Anybody can write to /var/tmp: a folder that somebody else made there first is not used.
        if account.can_enter(folder) and folder.stat().st_uid == os.geteuid():
            return folder
    raise LauncherError(
        f"The user {account.name} can enter neither the project's folder nor {' or '.join(map(str, SHARED))}.",
        "Name a folder that it can enter in GATELINE_HOME, or start Gateline as an ordinary user.",
    )
