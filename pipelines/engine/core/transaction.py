"""Transaction of an engine function: one per function, rerun as a whole when the database asks for it (house
§2)."""

from __future__ import annotations

from collections.abc import Callable
from time import sleep
from typing import TypeVar

from django.db import OperationalError, connection, transaction

T = TypeVar("T")

# Deadlock, serialization failure, lock not available.
RERUN = {"40P01", "40001", "55P03"}
PAUSES = (0.02, 0.1, 0.5)
"""Seconds before each rerun. The other party of a deadlock is only waking up then: a victim that began again at once
would lock its first row before it, and be the victim of the same deadlock each time."""


def run(work: Callable[[], T]) -> T:
    """Do `work` in a transaction. `work` must be repeatable: it reads everything it needs again."""
    for pause in (*PAUSES, None):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            # Inside an outer transaction a rerun is impossible: the outer one is broken.
            if pause is None or connection.in_atomic_block or _sqlstate(error) not in RERUN:
                raise
        sleep(pause)
    raise AssertionError("unreachable")


def _sqlstate(error: OperationalError) -> str | None:
    # Only psycopg's error, which Django wraps, has the code.
    return getattr(error.__cause__, "sqlstate", None)
