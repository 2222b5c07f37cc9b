"""Errors that say that database or artifact store are away or busy: then the answer is 503, and a repeat helps. Or that
a disk is full: then it is 507, and a repeat does not."""

from __future__ import annotations

from collections.abc import Iterator

import structlog
from django.db import InterfaceError, OperationalError
from psycopg.errors import DiskFull
from psycopg_pool import PoolTimeout

from pipelines.work import file_measure
from pipelines.work.artifact_stores.store import StoreFailed

log = structlog.get_logger(__name__)

RETRY_SECONDS = 3
AWAY = (OperationalError, InterfaceError, PoolTimeout, StoreFailed)
"""The connection broke or cannot be made, or all are in use. A transaction that was under way is rolled back."""


def unavailable_message(error: BaseException | None) -> str:
    """Return what a client is told; what is wrong with the store is for the operator, in the log."""
    if failures := [cause for cause in _error_chain(error) if isinstance(cause, StoreFailed)]:
        log.error("artifact_store_failed", error=str(failures[0]))
        return "The artifact store of this server failed. Try again; the log of the server says why."
    return (
        "The database cannot be reached, or is busy. Nothing was left half done: try again in a few seconds."
    )


def is_unavailable(error: BaseException | None) -> bool:
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
