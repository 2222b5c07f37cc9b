"""Whether an error says that the database is away or busy: then the answer is 503, and asking again helps."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext
from psycopg_pool import PoolTimeout

RETRY_SECONDS = 3
AWAY = (OperationalError, InterfaceError, PoolTimeout)
"""The connection broke or cannot be made, or all are in use. A transaction that was under way is rolled back."""


def words() -> str:
    return gettext(
        "The database cannot be reached, or is busy. Nothing was left half done: try again in a few seconds."
    )


def is_away(error: BaseException | None) -> bool:
    return any(isinstance(each, AWAY) for each in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__
