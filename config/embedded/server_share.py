"""A process's share in the running server. Starting and stopping are exclusive; the users are counted by a shared lock
that the system frees when a user dies, however it dies. The last user out stops the server."""

from __future__ import annotations

import atexit
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.embedded import layout, server

KEEPER_SECONDS = 3.0

_shares: dict[Path, ServerShare] = {}


class ServerShare:
    """Held until `release` or the end of the process."""

    def __init__(self, server_layout: layout.Layout) -> None:
        self.place = server_layout
        self.process = os.getpid()
        self.lock = os.open(server_layout.users_lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_SH)

    def release(self) -> None:
        # A forked child has a copy of this object, but no share of its own.
        if self.lock < 0 or self.process != os.getpid():
            return
        _shares.pop(self.place.home, None)
        with exclusive_lock(self.place.start_lock_file):
            os.close(self.lock)
            self.lock = -1
            last = is_unused(self.place)
            if last:
                server.stop_server(self.place)
        if last:
            # After the start lock is free: the keeper needs it to see that it may go.
            _wait_until_keeper_ends(self.place)


def acquire_share(home: Path, *, durable: bool = True) -> ServerShare:
    """This process's share in the server of the state folder, started if need be; released at exit. LauncherError if
    it cannot be started."""
    if home not in _shares:
        layout.make_home(home)
        with exclusive_lock(layout.recorded_or_planned_layout(home).start_lock_file):
            place = server.ensure_running_and_return_layout(home, durable=durable)
            # Under the start lock: a keeper could find a server without users, and stop it.
            _shares[home] = ServerShare(place)
        _start_keeper(place, durable)
        atexit.register(_shares[home].release)
    return _shares[home]


def is_unused(server_layout: layout.Layout) -> bool:
    """Return whether no process has a share. Called under the start lock, so that none can come in between."""
    probe = os.open(server_layout.users_lock_file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # Every user holds it shared: who gets it alone knows that there is none
        fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(probe)
    return True


@contextmanager
def exclusive_lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """BlockingIOError where `wait` is false and somebody else has it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        # Closing the file frees the lock.
        os.close(lock)


def _wait_until_keeper_ends(server_layout: layout.Layout) -> None:
    """Nothing is left behind: the keeper sees at its next look that the server was stopped, and goes. Who starts the
    server anew meanwhile has a keeper again."""
    late = time.monotonic() + KEEPER_SECONDS
    while time.monotonic() < late and is_unused(server_layout):
        try:
            with exclusive_lock(server_layout.keeper_lock_file, wait=False):
                return
        except BlockingIOError:
            time.sleep(0.02)


def _start_keeper(server_layout: layout.Layout, durable: bool) -> None:
    """Start the keeper of the state folder, one per folder: it takes its lock itself and exits when another
    one has it."""
    try:
        with exclusive_lock(server_layout.keeper_lock_file, wait=False):
            pass
    except BlockingIOError:
        return
    kind = "durable" if durable else "throwaway"
    with server.open_log(server_layout) as log:
        server.spawn_detached_and_return_pid(
            [sys.executable, "-m", "config.embedded.keeper", server_layout.home, kind],
            stderr=log,
            cwd=Path(__file__).resolve().parents[2],
        )
