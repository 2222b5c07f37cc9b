"""A child ends with its supervisor, however the supervisor ends: the supervisor holds one end of a pipe and writes
nothing; when the system closes that end, the child is told to stop, and a little later killed."""

from __future__ import annotations

import os
import signal
import threading
import time

VARIABLE = "GATELINE_LIFELINE"
GRACE_SECONDS = 8.0


def watch_supervisor() -> None:
    """Starts the thread that waits for the end of the pipe, where a supervisor gave us one."""
    # Not handed on: what this process starts has no such pipe
    descriptor = os.environ.pop(VARIABLE, "")
    if descriptor:
        os.set_inheritable(int(descriptor), False)
        threading.Thread(
            target=_stop_when_closed, args=(int(descriptor),), name="lifeline", daemon=True
        ).start()


def _stop_when_closed(pipe: int) -> None:
    while os.read(pipe, 1):
        continue
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
