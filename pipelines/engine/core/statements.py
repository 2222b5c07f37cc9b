"""Statements that go to the server together and come back together: one round trip for all of them (house §2).

They are texts that never change, so psycopg prepares them after a few times, where no pooler stands between
(docs/database.md). Rows pass as JSON: one parameter for any number of rows, and one answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import psycopg
from django.db import connection


@dataclass(frozen=True)
class Statement:
    """`rows`: how many it has to write; None: any number. `of`: what is written, for the error."""

    text: str
    parameters: Sequence[Any] = ()
    rows: int | None = None
    of: str = ""


class LostRow(RuntimeError):
    """A row that this transaction locked was not there to be written."""


def send(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Execute them in this order, in the transaction that is open; the rows that each answers.

    :raises LostRow: one wrote another number of rows"""
    return _one_by_one(statements) if _watched() else _together(statements)


def write(*groups: Sequence[Statement]) -> None:
    """Execute them group after group, each group as one statement: for those that write rows of their own and answer
    nothing, since within a group none sees what another writes, and their order is the server's.

    :raises LostRow: one wrote another number of rows"""
    wanted = [group for group in groups if group]
    if _watched():
        for group in wanted:
            _one_by_one(group)
        return
    sent = [
        Statement(
            _in_one(tuple(each.text for each in group)),
            [value for each in group for value in each.parameters],
        )
        for group in wanted
    ]
    for group, [counts] in zip(wanted, _together(sent), strict=True):
        for each, count in zip(group, counts, strict=True):
            _check(count, each)


@lru_cache(maxsize=256)
def _in_one(texts: tuple[str, ...]) -> str:
    """It answers how many rows each writes."""
    parts = ", ".join(f"w{number} AS ({text} RETURNING 1)" for number, text in enumerate(texts))
    counts = ", ".join(f"(SELECT count(*) FROM w{number})" for number in range(len(texts)))
    return f"WITH {parts} SELECT {counts}"


def _watched() -> bool:
    return bool(connection.execute_wrappers or connection.queries_logged)


def _together(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    connection.ensure_connection()
    server: Any = connection.connection
    with connection.wrap_database_errors:
        cursors = [psycopg.Cursor(server) for _ in statements]
        # One by itself is one round trip anyway.
        with server.pipeline() if len(statements) > 1 else nullcontext():
            for cursor, each in zip(cursors, statements, strict=True):
                cursor.execute(each.text, each.parameters)
        return [_answer(cursor, each) for cursor, each in zip(cursors, statements, strict=True)]


def _one_by_one(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """The same where somebody watches what Django executes."""
    found = []
    for each in statements:
        with connection.cursor() as cursor:
            cursor.execute(each.text, each.parameters)
            found.append(_answer(cursor, each))
    return found


def _answer(cursor: Any, statement: Statement) -> list[tuple[Any, ...]]:
    _check(cursor.rowcount, statement)
    return list(cursor.fetchall()) if cursor.description else []


def _check(count: int, statement: Statement) -> None:
    if statement.rows is not None and count != statement.rows:
        raise LostRow(f"{count} of {statement.rows} {statement.of} were written")
