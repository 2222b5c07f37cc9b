"""The thread that renews all of a worker's leases by one statement, with a connection of its own: neither a busy event
loop nor a full pool may cost a lease (house §2)."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Collection

import structlog
from django.db import DatabaseError, InterfaceError, connection

from pipelines.ports import leases
from pipelines.work.database import with_connection

log = structlog.get_logger(__name__)
# So many lease times without a renewal: others are at work on everything by now.
CUT_OFF = 6


class Renewal(threading.Thread):
    """`on_held(held, asked_at)` and `on_cut_off()` are called in this thread. `asked_at` as of time.monotonic()."""

    def __init__(
        self,
        worker: uuid.UUID,
        seconds: float,
        every: float,
        abandoned: Callable[[], Collection[int]],
        on_held: Callable[[dict[int, uuid.UUID], float], None],
        on_cut_off: Callable[[], None],
    ) -> None:
        super().__init__(name="renewal", daemon=True)
        self._worker, self._seconds, self._every = worker, seconds, every
        self._abandoned, self._on_held, self._on_cut_off = abandoned, on_held, on_cut_off
        self._end = threading.Event()
        # A worker that starts takes over at once what the dead have left; one that was cut off waits for the others.
        self._connected_since: float | None = -math.inf
        self._last = time.monotonic()

    def run(self) -> None:
        while not self._end.is_set():
            asked_at = time.monotonic()
            try:
                held = with_connection(leases.renew, self._worker, self._seconds, self._abandoned())
            except (DatabaseError, InterfaceError) as error:
                log.warning("leases_not_renewed", error=str(error).splitlines()[0] if str(error) else "")
                self._connected_since = None
                if time.monotonic() - self._last > CUT_OFF * self._seconds:
                    self._on_cut_off()
            else:
                self._last = asked_at
                if self._connected_since is None:
                    self._connected_since = asked_at
                self._on_held(held, asked_at)
            self._end.wait(self._every if self._connected_since is not None else min(self._every, 0.5))
        connection.close()

    def connected_for(self) -> float:
        """Seconds since the last renewal that failed; infinite if none did."""
        since = self._connected_since
        return time.monotonic() - since if since is not None else 0.0

    def end(self) -> None:
        self._end.set()
        self.join(timeout=10)
