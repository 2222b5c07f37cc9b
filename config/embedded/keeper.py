"""Keeper process beside a running server: restarts it when it was killed, and stops it when all its users
were.

python -m config.embedded.keeper HOME durable|throwaway
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from config.embedded import layout, processes, server
from config.embedded.errors import LauncherError
from config.embedded.server_share import exclusive_lock, is_unused

USERS_SECONDS = 60.0
"""How long a server may go on that has lost all its users; its own end is noticed at once."""
AFTER_A_FAILURE = 2.0


def stop_when_unused(home: Path, *, durable: bool) -> None:
    """Returns when nobody uses the server any more; it is stopped then."""
    place = layout.recorded_or_planned_layout(home)
    while place.record_file.exists():
        # Nobody starts, or comes to share, between the look and what follows from it
        with exclusive_lock(place.start_lock_file):
            if is_unused(place):
                return server.stop_server(place)
            try:
                server.ensure_running_and_return_layout(home, durable=durable)
            except LauncherError as error:
                print(error, file=sys.stderr, flush=True)
            pid = server.living_postmaster_pid_or_none(place)
        if pid is None:
            time.sleep(AFTER_A_FAILURE)
        else:
            # All else only where something happened: an idle look costs three calls of the system.
            while not processes.has_ended_within(pid, USERS_SECONDS) and not is_unused(place):
                pass
    return None


def main() -> None:
    home, kind = Path(sys.argv[1]), sys.argv[2]
    try:
        with exclusive_lock(layout.recorded_or_planned_layout(home).keeper_lock_file, wait=False):
            stop_when_unused(home, durable=kind == "durable")
            # The system frees the lock when this process has gone, and not before: somebody waits for that.
            sys.stderr.flush()
            os._exit(0)
    except (BlockingIOError, FileNotFoundError):
        return  # another keeper has it, or the state folder is gone


if __name__ == "__main__":
    main()
