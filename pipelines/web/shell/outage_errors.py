"""Errors that say that the database is away or busy: then the answer is 503, and a repeat helps. Or that a
disk is full: then it is 507, and a repeat does not."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import InterfaceError, OperationalError
from psycopg.errors import DiskFull
from psycopg_pool import PoolTimeout

from pipelines.work import file_measure

RETRY_SECONDS = 3
AWAY = (OperationalError, InterfaceError, PoolTimeout)
"""The connection broke or cannot be made, or all are in use. A transaction that was under way is rolled back."""


def unavailable_message() -> str:
    return (
        "The database cannot be reached, or is busy. Nothing was left half done: try again in a few seconds."
    )


def is_database_unavailable(error: BaseException | None) -> bool:
    return any(isinstance(cause, AWAY) for cause in _error_chain(error))


def disk_full_message() -> str:
    return "The disk of this server is full. Ask its administrator to make room, then send this again."


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether a disk of this server, or of its database, has no room."""
    return any(
        isinstance(cause, DiskFull) or file_measure.is_no_room_left(cause) for cause in _error_chain(error)
    )


def _error_chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it was raised from."""
    while error is not None:
        yield error
        # Django raises errors of its own from those of the driver.
        error = error.__cause__
