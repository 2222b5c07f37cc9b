"""Deaths in the middle of a transaction of the engine: its connection to the database is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import OperationalError, connection

DIE = "SELECT pg_terminate_backend(pg_backend_pid())"


@contextmanager
def before_commit(statements: int) -> Iterator[None]:
    """The server ends this connection after so many statements, or, if the transaction has fewer, when it is about to
    be committed. Nothing of it may be seen afterwards."""
    done = 0

    def counted(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal done
        answer = execute(sql, params, many, context)
        done += 1
        if done == statements:
            _die()
        return answer

    def commit() -> None:
        _die()

    with connection.execute_wrapper(counted), mock.patch.object(connection, "_commit", commit):
        yield


@contextmanager
def after_commit() -> Iterator[None]:
    """The transaction is committed, and whoever asked for it never hears of it."""
    database: Any = connection
    really = database._commit

    def commit() -> Any:
        really()
        _die()

    with mock.patch.object(connection, "_commit", commit):
        yield


def _die() -> None:
    """Raises the OperationalError that anybody gets whose connection is cut."""
    assert connection.connection is not None
    try:
        connection.connection.execute(DIE)
    except Exception as cut:
        raise OperationalError("the connection was cut") from cut
