"""Statements that go to the server together and come back together: one round trip for all of them (house §2).

They are texts that never change, so psycopg prepares them after a few times, where no pooler stands between
(docs/database.md). Rows pass as JSON: one parameter for any number of rows, and one answer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection

from pipelines.models.plumbing.compiled_queries import BoundQuery
from pipelines.models.plumbing.django_internals import is_watched, server_connection


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
    return _one_by_one(statements) if is_watched() else _together(statements)


def fetch_bound(*questions: BoundQuery[Any]) -> list[list[Any]]:
    """Send these bound queries together, and return the results of each."""
    answers = send([Statement(question.text, question.parameters) for question in questions])
    return [question.read(rows) for question, rows in zip(questions, answers, strict=True)]


def _together(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    opened, errors = server_connection()
    with errors:
        cursors = [psycopg.Cursor(opened) for _ in statements]
        # One by itself is one round trip anyway.
        with opened.pipeline() if len(statements) > 1 else nullcontext():
            for cursor, statement in zip(cursors, statements, strict=True):
                cursor.execute(statement.text, [_as_sent(value) for value in statement.parameters])
        # Behind the pipeline: to fetch within it would wait for each answer.
        return [_answer(cursor, statement) for cursor, statement in zip(cursors, statements, strict=True)]


def _as_sent(value: Any) -> Any:
    """Ids as the text of their array, which each statement casts. Of a list, psycopg looks at each element and sends
    the type that fits the largest: what was prepared for `smallint[]` is then prepared once more for `int[]`."""
    if type(value) is list and value and type(value[0]) in (int, uuid.UUID):
        return f"{{{','.join(map(str, value))}}}"
    return value


def _one_by_one(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Execute the statements through Django, if somebody watches them (a test, a tracer)."""
    answers = []
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(statement.text, statement.parameters)
            answers.append(_answer(cursor, statement))
    return answers


def _answer(cursor: Any, statement: Statement) -> list[tuple[Any, ...]]:
    if statement.rows is not None and cursor.rowcount != statement.rows:
        raise LostRow(f"{cursor.rowcount} of {statement.rows} {statement.of} were written")
    # Not its `description`, which says everything of every column.
    return cursor.fetchall() if cursor.pgresult.nfields else []
