"""Statements of hot pages: written as a QuerySet, compiled once by each process, from then on only executed.

Writing and compiling a QuerySet takes Django five times as long as PostgreSQL takes to answer most of them. Values are
`GivenValue`s, named as the arguments are:

    @compiled(line=BigIntegerField())
    def versions_of(line):
        return LineVersion.objects.filter(line=line)

    versions_of(line=7)  # a list of LineVersion

Ids of several rows are an array: `filter(pk__among=rows)` with `rows=ids()`. What is written may depend on nothing but
these values: no time zone, no setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import psycopg
from django.contrib.postgres.fields import ArrayField
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import BigIntegerField, Expression, Field, ForeignObject, Lookup, QuerySet
from django.db.models.sql.compiler import SQLCompiler

from pipelines.models.plumbing.private import CompiledStatement, is_watched, server

Row = TypeVar("Row")
Values = Sequence[Any] | Mapping[str, Any]
if TYPE_CHECKING:
    AnyLookup = Lookup[Any]
else:
    AnyLookup = Lookup


def array(kind: str) -> str:
    """An array of the call in a statement that the server keeps. Seen as it is, the server counts what is in it, and
    plans anew each time: for one id that looks cheaper than the plan for any number, and planning takes longer than the
    rest."""
    return f"(SELECT %s::{kind}[])::{kind}[]"


class GivenValue(Expression):
    """Stands for a value of the call. `kept`: in a statement that the server keeps."""

    def __init__(self, name: str, field: Field[Any, Any], *, is_prepared: bool = False) -> None:
        super().__init__(output_field=field)
        self.name, self._kept = name, is_prepared

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        field = self.output_field
        if self._kept and isinstance(field, ArrayField):
            return array(str(field.base_field.db_type(connection))), [self]
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


def ids(of: Field[Any, Any] | None = None) -> ArrayField[Any, Any]:
    """An array of such values."""
    return ArrayField(of or BigIntegerField())


@dataclass(frozen=True)
class Question(Generic[Row]):
    """A statement that the server keeps, with the values of a call: to be sent together with others
    (`models/plumbing/statements.py`). `read`: of the rows that it finds, what the call answers."""

    text: str
    parameters: Sequence[Any]
    read: Callable[[Sequence[Sequence[Any]]], list[Row]] = list  # type: ignore[assignment]


class Compiled(Generic[Row]):
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
        statement = self._once()
        send = from_kept if self._kept else fetch
        return statement.read(send(statement.sql, _values(statement, values)))

    def question(self, **values: Any) -> Question[Row]:
        """The call, not made yet; of what the server keeps."""
        assert self._kept
        statement = self._once()
        return Question(statement.sql, _values(statement, values), statement.read)

    def _once(self) -> CompiledStatement:
        # Two threads that come first compile it twice: both have the same.
        if self._statement is None:
            given_values = {
                name: GivenValue(name, field, is_prepared=self._kept) for name, field in self._given.items()
            }
            self._statement = CompiledStatement(self._write(**given_values))
        return self._statement

    def first(self, **values: Any) -> Row | None:
        return next(iter(self(**values)), None)


def compiled(
    **parameters: Field[Any, Any],
) -> Callable[[Callable[..., QuerySet[Any, Row]]], Compiled[Row]]:
    """Return a decorator that compiles a QuerySet. Without a limit of its own a QuerySet is read whole, also
    by `first`."""
    return lambda write: Compiled(write, parameters)


def kept(
    **parameters: Field[Any, Any],
) -> Callable[[Callable[..., QuerySet[Any, Row]]], Compiled[Row]]:
    """The same, and the server keeps it, too: for what a move asks, which a key finds whatever the values are. Of a
    page some values have few rows and some many, and want plans of their own."""
    return lambda write: Compiled(write, parameters, is_prepared=True)


def _values(statement: CompiledStatement, values: Mapping[str, Any]) -> list[Any]:
    return [
        values[parameter.name] if isinstance(parameter, GivenValue) else parameter
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


def from_kept(sql: str, values: Values = ()) -> Sequence[Sequence[Any]]:
    """The rows of a statement that the server keeps. Django's own cursors write the values into the text, which the
    server then reads and plans anew."""
    # Wrappers and the log of queries see Django's own cursors only.
    if is_watched():
        return fetch(sql, values)
    opened, errors = server()
    with errors:
        return psycopg.Cursor(opened).execute(sql, values).fetchall()
