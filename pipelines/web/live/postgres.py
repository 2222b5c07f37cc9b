"""The two connections to PostgreSQL of a live process, each in a thread of its own: one listens, one notifies.

A query on the connection that iterates `notifies()` would wait for ever, hence two.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from pipelines.web.statements import LISTEN, NOTIFY

log = logging.getLogger(__name__)

ALIVE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
PATIENCE = 2.0  # seconds between attempts to connect, at most


def _waits() -> Iterator[float]:
    wait = 0.1
    while True:
        yield wait
        wait = min(wait * 2, PATIENCE)


class Listener:
    """Hands every payload on `topic` to `take`; after a lost connection it connects again and calls `lost` once."""

    def __init__(
        self, conninfo: str, topic: str, take: Callable[[str], None], lost: Callable[[], None]
    ) -> None:
        self._conninfo, self._topic, self._take, self._lost = conninfo, topic, take, lost
        self._stopping = threading.Event()
        self._wakes, self._wake = socket.socketpair()
        self.listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live-listen", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        # Its end is what wakes the thread, which looks at no clock.
        self._wake.close()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        with self._wakes:
            self._listen()

    def _listen(self) -> None:
        waits, connected_before = _waits(), False
        while not self._stopping.is_set():
            try:
                with psycopg.connect(
                    self._conninfo, autocommit=True, application_name="gateline-listen", **ALIVE
                ) as connection:
                    connection.execute(psycopg.sql.SQL(LISTEN).format(psycopg.sql.Identifier(self._topic)))
                    self.listening.set()
                    if connected_before:
                        self._lost()
                    connected_before, waits = True, _waits()
                    self._follow(connection)
            except psycopg.OperationalError as error:
                self.listening.clear()
                log.warning("live: not listening: %s", str(error).strip())
                self._stopping.wait(next(waits))

    def _follow(self, connection: psycopg.Connection) -> None:
        with selectors.DefaultSelector() as either:
            either.register(connection, selectors.EVENT_READ)
            either.register(self._wakes, selectors.EVENT_READ)
            while not self._stopping.is_set():
                for notice in connection.notifies(timeout=0):
                    self._take(notice.payload)
                either.select()


class Notifier:
    """Sends payloads in the order given; all that wait go in one transaction, and callers never wait."""

    CAPACITY = 10_000

    def __init__(self, conninfo: str, topic: str, overflow: str) -> None:
        """`overflow` is the payload that stands for everything that had to be dropped."""
        self._conninfo, self._topic, self._overflow = conninfo, topic, overflow
        self._outbox: deque[str] = deque()
        self._work = threading.Condition()
        self._sending = False
        self._stopping = False
        self._thread: threading.Thread | None = None

    def put(self, payload: str) -> None:
        with self._work:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="live-notify", daemon=True)
                self._thread.start()
            if len(self._outbox) >= self.CAPACITY:
                self._outbox.clear()
                payload = self._overflow
            self._outbox.append(payload)
            self._work.notify_all()

    def drain(self, timeout: float) -> bool:
        """Wait until everything is sent; False when that took longer than `timeout` seconds."""
        with self._work:
            return self._work.wait_for(lambda: not self._outbox and not self._sending, timeout)

    def stop(self) -> None:
        with self._work:
            self._stopping = True
            self._work.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        waits = _waits()
        while not self._stopping:
            try:
                with psycopg.connect(
                    self._conninfo, autocommit=True, application_name="gateline-notify", **ALIVE
                ) as connection:
                    while self._send(connection):
                        waits = _waits()
            except psycopg.OperationalError as error:
                log.warning("live: not notifying: %s", str(error).strip())
                time.sleep(next(waits))

    def _send(self, connection: psycopg.Connection) -> bool:
        with self._work:
            self._work.wait_for(lambda: bool(self._outbox) or self._stopping)
            batch = list(self._outbox)
            self._outbox.clear()
            self._sending = True
        try:
            if batch:
                connection.execute(NOTIFY, (self._topic, batch))
        except psycopg.Error:
            self._give_back(batch)
            raise
        with self._work:
            self._sending = False
            self._work.notify_all()
        return not self._stopping

    def _give_back(self, batch: list[str]) -> None:
        with self._work:
            self._sending = False
            self._outbox.extendleft(reversed(batch))
