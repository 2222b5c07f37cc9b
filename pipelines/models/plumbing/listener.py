"""Notices of the server (LISTEN): a connection of its own, which a thread waits on without looking at a clock."""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import psycopg
from django.db import connections
from psycopg.conninfo import make_conninfo

log = logging.getLogger(__name__)

LISTEN: Final = "LISTEN {}"
ALIVE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    # In milliseconds, where the others are seconds
    "tcp_user_timeout": 15_000,
}
CONNINFO = ("dbname", "user", "password", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey")
PATIENCE = 0.5  # seconds between attempts to connect, at most


def default_conninfo() -> str:
    """The address of Django's default database, without its pool; in tests that is the test database."""
    params = connections["default"].get_connection_params()
    return make_conninfo(**{key: params[key] for key in CONNINFO if params.get(key)})


def seconds_before_retries() -> Iterator[float]:
    """Seconds before each further attempt to connect."""
    wait = 0.1
    while True:
        yield wait
        wait = min(wait * 2, PATIENCE)


class Listener:
    """Hands every payload on `topics` to `take`, in its own thread. After a lost connection it connects again.

    :param connected: called each time it has begun to listen, with whether it has done so before: what was sent until
        then is lost"""

    def __init__(
        self,
        conninfo: str,
        topics: Sequence[str],
        take: Callable[[str], object],
        connected: Callable[[bool], object],
    ) -> None:
        self._conninfo, self._topics, self._take, self._connected = conninfo, topics, take, connected
        self._stopping = threading.Event()
        self._wakes, self._wake = socket.socketpair()
        self.listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"listen-{topics[0]}", daemon=True)

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
        pauses, again = seconds_before_retries(), False
        while not self._stopping.is_set():
            try:
                with psycopg.connect(
                    # In an open transaction no notice would arrive.
                    self._conninfo,
                    autocommit=True,
                    application_name="gateline-listen",
                    **ALIVE,
                ) as connection:
                    for topic in self._topics:
                        connection.execute(psycopg.sql.SQL(LISTEN).format(psycopg.sql.Identifier(topic)))
                    self.listening.set()
                    # After LISTEN: what is fetched now and the notices leave no gap.
                    self._connected(again)
                    again, pauses = True, seconds_before_retries()
                    self._deliver_notifications_of_connection(connection)
            except psycopg.OperationalError as error:
                self.listening.clear()
                log.warning("not listening to %s: %s", ", ".join(self._topics), str(error).strip())
                self._stopping.wait(next(pauses))

    def _deliver_notifications_of_connection(self, connection: psycopg.Connection) -> None:
        with selectors.DefaultSelector() as either:
            either.register(connection, selectors.EVENT_READ)
            either.register(self._wakes, selectors.EVENT_READ)
            while not self._stopping.is_set():
                # Before it waits: what was read from the socket already wakes no selector.
                for notice in connection.notifies(timeout=0):
                    self._take(notice.payload)
                either.select()
