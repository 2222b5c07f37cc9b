"""The thread that renews all of a worker's leases at once: a busy event loop may not cost a lease (house §2)."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Collection

import structlog

from pipelines.work.transport.protocol import ServerAway, Transport

log = structlog.get_logger(__name__)
# So many lease times without a renewal: others are at work on everything by now.
CUT_OFF = 6


class Renewal(threading.Thread):
    """`on_held(held, asked_at)` and `on_cut_off()` are called in this thread. `asked_at` as of time.monotonic()."""

    def __init__(
        self,
        transport: Transport,
        seconds: float,
        every: float,
        abandoned: Callable[[], Collection[int]],
        on_held: Callable[[dict[int, uuid.UUID], float], None],
        on_cut_off: Callable[[], None],
    ) -> None:
        super().__init__(name="renewal", daemon=True)
        self._transport, self._seconds, self._every = transport, seconds, every
        self._abandoned, self._on_held, self._on_cut_off = abandoned, on_held, on_cut_off
        self._end = threading.Event()
        # A worker that starts takes over at once what the dead have left; one that was cut off waits for the others.
        self._connected_since: float | None = -math.inf
        self._last = time.monotonic()

    def run(self) -> None:
        while not self._end.is_set():
            # Before the call: what begins after it cannot be in the answer
            asked_at = time.monotonic()
            try:
                leases = self._transport.renew(self._abandoned())
            except ServerAway as error:
                log.warning("leases_not_renewed", error=str(error))
                self._connected_since = None
                if time.monotonic() - self._last > CUT_OFF * self._seconds:
                    self._on_cut_off()
            else:
                self._last = asked_at
                if self._connected_since is None:
                    self._connected_since = asked_at
                self._on_held(leases, asked_at)
            # Sooner while cut off: after a restart leases are left alone for a few seconds only
            self._end.wait(self._every if self._connected_since is not None else min(self._every, 0.5))
        self._transport.hang_up()

    def connected_for(self) -> float:
        """Seconds since the last renewal that failed; infinite if none did."""
        since = self._connected_since
        return time.monotonic() - since if since is not None else 0.0

    def end(self) -> None:
        self._end.set()
        self.join(timeout=10)
