"""Statements of hot pages: written as a QuerySet, compiled once by each process, from then on only executed.

Writing and compiling a QuerySet takes Django five times as long as PostgreSQL takes to answer most of them. Values are
`CallValue`s, named as the arguments are:

@compiled(line=BigIntegerField()) def versions_of(line): return LineVersion.objects.filter(line=line)

    versions_of(line=7)  # a list of LineVersion

Ids of several rows are an array: `filter(pk__among=rows)` with `rows=ids()`. What is written may depend on nothing but
these values: no time zone, no setting."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import psycopg
from django.contrib.postgres.fields import ArrayField
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import BigIntegerField, Expression, Field, ForeignObject, Lookup, QuerySet
from django.db.models.sql.compiler import SQLCompiler

from pipelines.models.plumbing.django_internals import (
    CompiledStatement,
    connection_and_error_context,
    is_watched,
)

Row = TypeVar("Row")
Values = Sequence[Any] | Mapping[str, Any]
if TYPE_CHECKING:
    AnyLookup = Lookup[Any]
else:
    AnyLookup = Lookup


def array_parameter_sql(kind: str) -> str:
    """An array of the call in a statement that the server keeps. Seen as it is, the server counts what is in it, and
    plans anew each time: for one id that looks cheaper than the plan for any number, and planning takes longer than the
    rest."""
    return f"(SELECT %s::{kind}[])::{kind}[]"


class CallValue(Expression):
    """Placeholder for a value of the call. `is_prepared`: in a statement that the server keeps prepared."""

    def __init__(self, name: str, field: Field[Any, Any], *, is_prepared: bool = False) -> None:
        super().__init__(output_field=field)
        self.name, self._kept = name, is_prepared

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        field = self.output_field
        if self._kept and isinstance(field, ArrayField):
            return array_parameter_sql(str(field.base_field.db_type(connection))), [self]
        return "%s", [self]


@Field.register_lookup
@ForeignObject.register_lookup
class Among(AnyLookup):
    """Like `in`, with one array for a value: the text of the statement does not depend on how many there are."""

    lookup_name = "among"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        left, values = self.process_lhs(compiler, connection)
        right, more = (
            compiler.compile(self.rhs) if isinstance(self.rhs, Expression) else ("%s", [list(self.rhs)])
        )
        return f"{left} = ANY({right})", [*values, *more]


def array_field(of: Field[Any, Any] | None = None) -> ArrayField[Any, Any]:
    """Return the field of a parameter that is an array of such values, of ids by default."""
    return ArrayField(of or BigIntegerField())


@dataclass(frozen=True)
class BoundQuery(Generic[Row]):
    """A prepared statement with the values of one call, to be sent together with others
    (`statements.py` of its room). `read`: makes the results of its rows."""

    text: str
    parameters: Sequence[Any]
    read: Callable[[Sequence[Sequence[Any]]], list[Row]] = list  # type: ignore[assignment]


class CompiledQuery(Generic[Row]):
    """A function that answers with the rows of what it was written as."""

    def __init__(
        self,
        write: Callable[..., QuerySet[Any, Row]],
        parameters: dict[str, Field[Any, Any]],
        *,
        is_prepared: bool = False,
    ) -> None:
        self._write, self._given, self._kept = write, parameters, is_prepared
        self._statement: CompiledStatement | None = None

    def __call__(self, **values: Any) -> list[Row]:
        statement = self._compiled_statement()
        send = fetch_prepared if self._kept else fetch
        return statement.objects_or_values_of_rows(send(statement.sql, _statement_values(statement, values)))

    def bind(self, **values: Any) -> BoundQuery[Row]:
        """The call, not made yet; of what the server keeps."""
        assert self._kept
        statement = self._compiled_statement()
        return BoundQuery(
            statement.sql, _statement_values(statement, values), statement.objects_or_values_of_rows
        )

    def _compiled_statement(self) -> CompiledStatement:
        # Two threads that come first compile it twice: both have the same.
        if self._statement is None:
            given_values = {
                name: CallValue(name, field, is_prepared=self._kept) for name, field in self._given.items()
            }
            self._statement = CompiledStatement(self._write(**given_values))
        return self._statement

    def first(self, **values: Any) -> Row | None:
        return next(iter(self(**values)), None)


def compiled(
    **parameters: Field[Any, Any],
) -> Callable[[Callable[..., QuerySet[Any, Row]]], CompiledQuery[Row]]:
    """Return a decorator that compiles a QuerySet. Without a limit of its own a QuerySet is read whole, also
    by `first`."""
    return lambda write: CompiledQuery(write, parameters)


def server_prepared(
    **parameters: Field[Any, Any],
) -> Callable[[Callable[..., QuerySet[Any, Row]]], CompiledQuery[Row]]:
    """Return a decorator like `compiled`, whose statement the server keeps prepared: for what a move asks by a
    key. Pages whose values match few rows or many need plans of their own."""
    return lambda write: CompiledQuery(write, parameters, is_prepared=True)


def _statement_values(statement: CompiledStatement, values: Mapping[str, Any]) -> list[Any]:
    return [
        values[parameter.name] if isinstance(parameter, CallValue) else parameter
        for parameter in statement.parameters
    ]


def fetch(sql: str, values: Values | None = None) -> list[Any]:
    """Execute a statement, and return its rows."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def execute(sql: str, values: Values | None = None) -> int:
    """Execute a statement without rows, and return how many it wrote."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def fetch_prepared(sql: str, values: Values = ()) -> Sequence[Sequence[Any]]:
    """Return the rows of a statement that the server keeps prepared. Django's own cursors write the values into
    the text, so that the server plans it anew."""
    # Wrappers and the log of queries see Django's own cursors only.
    if is_watched():
        return fetch(sql, values)
    opened, errors = connection_and_error_context()
    with errors:
        return psycopg.Cursor(opened).execute(sql, values).fetchall()


@dataclass(frozen=True)
class Statement:
    """`rows`: how many it has to write; None: any number. `of`: what is written, for the error."""

    text: str
    parameters: Sequence[Any] = ()
    rows: int | None = None
    of: str = ""


class LostRow(RuntimeError):
    """A row that this transaction locked was not there to be written."""


def execute_all_and_fetch(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Execute them in this order, in the transaction that is open; the rows that each answers. They go to the server
    together and come back together: one round trip for all of them (house §2). They are texts that never change, so
    psycopg prepares them after a few times, where no pooler stands between (docs/database.md). Rows pass as JSON: one
    parameter for any number of rows, and one answer.

    :raises LostRow: one wrote another number of rows"""
    return _send_one_by_one(statements) if is_watched() else _send_pipelined(statements)


def fetch_bound(*questions: BoundQuery[Any]) -> list[list[Any]]:
    """Send these bound queries together, and return the results of each."""
    answers = execute_all_and_fetch([Statement(question.text, question.parameters) for question in questions])
    return [question.read(rows) for question, rows in zip(questions, answers, strict=True)]


def _send_pipelined(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    opened, errors = connection_and_error_context()
    with errors:
        cursors = [psycopg.Cursor(opened) for _ in statements]
        # One by itself is one round trip anyway.
        with opened.pipeline() if len(statements) > 1 else nullcontext():
            for cursor, statement in zip(cursors, statements, strict=True):
                cursor.execute(statement.text, [_value_as_sent(value) for value in statement.parameters])
        # Behind the pipeline: to fetch within it would wait for each answer.
        return [
            _answer_rows(cursor, statement) for cursor, statement in zip(cursors, statements, strict=True)
        ]


def _value_as_sent(value: Any) -> Any:
    """Ids as the text of their array, which each statement casts. Of a list, psycopg looks at each element and sends
    the type that fits the largest: what was prepared for `smallint[]` is then prepared once more for `int[]`."""
    if type(value) is list and value and type(value[0]) in (int, uuid.UUID):
        return f"{{{','.join(map(str, value))}}}"
    return value


def _send_one_by_one(statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Execute the statements through Django, if somebody watches them (a test, a tracer)."""
    answers = []
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(statement.text, statement.parameters)
            answers.append(_answer_rows(cursor, statement))
    return answers


def _answer_rows(cursor: Any, statement: Statement) -> list[tuple[Any, ...]]:
    if statement.rows is not None and cursor.rowcount != statement.rows:
        raise LostRow(f"{cursor.rowcount} of {statement.rows} {statement.of} were written")
    # Not its `description`, which says everything of every column.
    return cursor.fetchall() if cursor.pgresult.nfields else []
