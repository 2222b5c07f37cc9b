"""Deaths in the middle of a transaction of the engine: its connection to the database is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import OperationalError, connection

DIE = "SELECT pg_terminate_backend(pg_backend_pid())"


@contextmanager
def before_commit(statements: int, commits: int = 1) -> Iterator[None]:
    """The server ends this connection after so many statements, or else when a transaction is about to be committed:
    the first, second, … one. Nothing of that one may be seen afterwards. It dies once; whoever goes on gets another."""
    database: Any = connection
    really, done, died = database._commit, 0, False

    def counted(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal done, died
        answer = execute(sql, params, many, context)
        done += 1
        if done == statements and not died:
            died = True
            _die()
        return answer

    def commit() -> Any:
        nonlocal commits, died
        commits -= 1
        if died or commits > 0:
            return really()
        died = True
        return _die()

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
