"""The connection to PostgreSQL by which a live process tells the others, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque

import psycopg

from pipelines.models.plumbing.listener import ALIVE, seconds_before_retries
from pipelines.web.statements import NOTIFY

log = logging.getLogger(__name__)


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
            # The database is away: one payload that says “fetch everything” stands for all that wait
            if len(self._outbox) >= self.CAPACITY:
                self._outbox.clear()
                payload = self._overflow
            self._outbox.append(payload)
            self._work.notify_all()

    def wait_until_sent(self, timeout: float) -> bool:
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
        pauses = seconds_before_retries()
        while not self._stopping:
            try:
                with psycopg.connect(
                    self._conninfo, autocommit=True, application_name="gateline-notify", **ALIVE
                ) as connection:
                    while self._send(connection):
                        # After a success the pauses begin with the shortest again.
                        pauses = seconds_before_retries()
            except psycopg.OperationalError as error:
                log.warning("live: not notifying: %s", str(error).strip())
                time.sleep(next(pauses))

    def _send(self, connection: psycopg.Connection) -> bool:
        with self._work:
            self._work.wait_for(lambda: bool(self._outbox) or self._stopping)
            batch = list(self._outbox)
            self._outbox.clear()
            self._sending = True
        try:
            if batch:
                # One statement for all: each commit with a NOTIFY takes a lock of the whole server.
                connection.execute(NOTIFY, (self._topic, batch))
        except psycopg.Error:
            self._requeue(batch)
            raise
        with self._work:
            self._sending = False
            self._work.notify_all()
        return not self._stopping

    def _requeue(self, batch: list[str]) -> None:
        with self._work:
            self._sending = False
            # Turned around, as `extendleft` does so once more.
            self._outbox.extendleft(reversed(batch))
