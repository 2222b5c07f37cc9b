"""One transaction per engine function, rerun as a whole when the database asks for it (house §2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connection, transaction

T = TypeVar("T")

# Deadlock, serialization failure, lock not available.
RERUN = {"40P01", "40001", "55P03"}
RERUNS = 3


def run(work: Callable[[], T]) -> T:
    """Do `work` in a transaction. `work` must be repeatable: it reads everything it needs again."""
    for left in reversed(range(RERUNS + 1)):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            # Inside an outer transaction a rerun is impossible: the outer one is broken.
            if not left or connection.in_atomic_block or _sqlstate(error) not in RERUN:
                raise
    raise AssertionError("unreachable")


def _sqlstate(error: OperationalError) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)
