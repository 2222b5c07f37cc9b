"""Database work of an async process: bounded threads with connections of their own, which outlive a restart of the
server. No coroutine ever holds a connection."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")
log = structlog.get_logger(__name__)

# How long the server may be away before work gives up; it restarts in a second or two.
PATIENCE_SECONDS = 60.0


class Database:
    """A few threads. Calls beyond that wait their turn, so a burst cannot exhaust the server's connections."""

    def __init__(self, threads: int, name: str) -> None:
        self._used: set[BaseDatabaseWrapper] = set()
        self._threads = ThreadPoolExecutor(threads, name, initializer=self._register_connection_of_thread)

    def _register_connection_of_thread(self) -> None:
        """Register in each thread a connection of its own, which this object closes in the end."""
        own = connections["default"]
        # Django lets only its own thread close a connection, and `close` runs in another one
        own.inc_thread_sharing()
        self._used.add(own)

    async def call(self, function: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Once. :raises OperationalError: among others, when the server is away"""
        work = partial(call_with_connection, function, *arguments, **more)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call_until_connected(self, function: Callable[..., T], *arguments: Any, **more: Any) -> T:
        """Again and again while the server is away, for PATIENCE_SECONDS. `function` must be safe to repeat: an answer
        can get lost after the commit."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + PATIENCE_SECONDS, 0.1
        while True:
            try:
                return await loop.run_in_executor(
                    self._threads, partial(_call_unchecked, function, *arguments, **more)
                )
            except (OperationalError, InterfaceError) as error:
                if loop.time() > until:
                    raise
                log.warning("database_away", error=str(error).splitlines()[0] if str(error) else "")
            # Spread, so that calls do not come back all at the same moment
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(pause * 2, 1.0)

    def close(self) -> None:
        """Wait for the calls under way and close the threads' connections."""
        self._threads.shutdown(wait=True)
        for own in self._used:
            own.close()


def _call_unchecked(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Call a function without checking first whether the connection still works: a call that meets a broken
    one is repeated."""
    connection.close_if_unusable_or_obsolete()
    own: Any = connection
    own.health_check_done = True
    return _call_closing_on_error(function, *arguments, **more)


def call_twice_at_most(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Call a function without checking the connection first; once again, on a new one, where it was broken. `function`
    must be safe to repeat."""
    try:
        return _call_unchecked(function, *arguments, **more)
    except (OperationalError, InterfaceError):
        return call_with_connection(function, *arguments, **more)


def call_with_connection(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Call a function in a thread: a connection that broke meanwhile is replaced before, and closed after an
    error."""
    connection.close_if_unusable_or_obsolete()
    return _call_closing_on_error(function, *arguments, **more)


def _call_closing_on_error(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    try:
        return function(*arguments, **more)
    except (OperationalError, InterfaceError):
        # Inside of a transaction its owner still has to roll it back
        if not connection.in_atomic_block:
            connection.close()
        raise
