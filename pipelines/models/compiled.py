"""Statements of hot pages: written as a QuerySet, compiled once by each process, from then on only executed.

Writing and compiling a QuerySet takes Django five times as long as PostgreSQL takes to answer most of them. Values are
`GivenValue`s, named as the arguments are:

    @compiled(line=BigIntegerField())
    def versions_of(line):
        return LineVersion.objects.filter(line=line)

    versions_of(line=7)  # a list of LineVersion

Ids of several rows are an array: `filter(pk__among=rows)` with `rows=ids()`. What is written may depend on nothing but
these values: no time zone, no language, no setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import psycopg
from django.contrib.postgres.fields import ArrayField
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import BigIntegerField, Expression, Field, ForeignObject, Lookup, Model, QuerySet
from django.db.models.query import FlatValuesListIterable, ModelIterable
from django.db.models.query import get_related_populators as populators_of  # type: ignore[attr-defined]
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
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

    def __init__(self, name: str, field: Field[Any, Any], *, kept: bool = False) -> None:
        super().__init__(output_field=field)
        self.name, self._kept = name, kept

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
    (`engine/core/statements.py`). `read`: of the rows that it finds, what the call answers."""

    text: str
    parameters: Sequence[Any]
    read: Callable[[Sequence[Sequence[Any]]], list[Row]] = list  # type: ignore[assignment]


class Compiled(Generic[Row]):
    """A function that answers with the rows of what it was written as."""

    def __init__(
        self,
        write: Callable[..., QuerySet[Any, Row]],
        given: dict[str, Field[Any, Any]],
        *,
        kept: bool = False,
    ) -> None:
        self._write, self._given, self._kept = write, given, kept
        self._statement: _Statement | None = None

    def __call__(self, **given: Any) -> list[Row]:
        return self._once().rows(given)

    def question(self, **given: Any) -> Question[Row]:
        """The call, not made yet; of what the server keeps."""
        assert self._kept
        statement = self._once()
        return Question(statement.sql, statement.values(given), statement.read)

    def _once(self) -> _Statement:
        # Two threads that come first compile it twice: both have the same.
        if self._statement is None:
            given_values = {
                name: GivenValue(name, field, kept=self._kept) for name, field in self._given.items()
            }
            self._statement = _Statement(self._write(**given_values), kept=self._kept)
        return self._statement

    def first(self, **given: Any) -> Row | None:
        return next(iter(self(**given)), None)


def compiled(
    **given: Field[Any, Any],
) -> Callable[[Callable[..., QuerySet[Any, Row]]], Compiled[Row]]:
    """Without a limit of its own a QuerySet is read whole, also by `first`."""
    return lambda write: Compiled(write, given)


def kept(
    **given: Field[Any, Any],
) -> Callable[[Callable[..., QuerySet[Any, Row]]], Compiled[Row]]:
    """The same, and the server keeps it, too: for what a move asks, which a key finds whatever the values are. Of a
    page some values have few rows and some many, and want plans of their own."""
    return lambda write: Compiled(write, given, kept=True)


def hang(parents: Iterable[Any], name: str, children: Sequence[Any], by: str) -> None:
    """As `prefetch_related` leaves them: `parent.name.all()` has those whose `by` is its id."""
    of: dict[Any, list[Any]] = {}
    for child in children:
        of.setdefault(getattr(child, by), []).append(child)
    for parent in parents:
        rows = getattr(parent, name).model._default_manager.all()
        rows._result_cache, rows._prefetch_done = of.get(parent.pk, []), True
        vars(parent).setdefault("_prefetched_objects_cache", {})[name] = rows


class _Statement:
    """What a compiler knows when it has written its statement, and how it makes objects of rows (`ModelIterable`)."""

    def __init__(self, written: QuerySet[Any, Any], *, kept: bool = False) -> None:
        self._fetched = from_kept if kept else _from_cursor
        besides = written._prefetch_related_lookups  # type: ignore[attr-defined]
        assert not besides, "what is fetched besides has statements of its own"
        self._compiler = compiler = written.query.get_compiler(DEFAULT_DB_ALIAS)
        self.sql, self._values = compiler.as_sql()
        self._flat = written._iterable_class is FlatValuesListIterable
        select, info = compiler.select, compiler.klass_info
        assert select is not None and not compiler.has_extra_select
        self._converters = compiler.get_converters([each[0] for each in select[: compiler.col_count]])
        # What is left to do with it needs no connection of one thread.
        compiler.connection = connection
        self._annotations = list((compiler.annotation_col_map or {}).items())
        self._model: type[Model] | None = None
        if written._iterable_class is ModelIterable:
            assert info is not None
            fields = info["select_fields"]
            self._model, self._from, self._to = info["model"], fields[0], fields[-1] + 1
            columns: Iterable[Any] = select[self._from : self._to]
            self._names = [each[0].target.attname for each in columns]
            self._populators = populators_of(info, select, DEFAULT_DB_ALIAS)

    def values(self, given: dict[str, Any]) -> list[Any]:
        return [given[each.name] if isinstance(each, GivenValue) else each for each in self._values]

    def rows(self, given: dict[str, Any]) -> list[Any]:
        return self.read(self._fetched(self.sql, self.values(given)))

    def read(self, found: Sequence[Sequence[Any]]) -> list[Any]:
        if self._converters:
            found = list(self._compiler.apply_converters(found, self._converters))
        if self._model is None:
            return [row[0] for row in found] if self._flat else list(map(tuple, found))
        return [self._object(row) for row in found]

    def _object(self, row: Sequence[Any]) -> Any:
        assert self._model is not None
        made = self._model.from_db(DEFAULT_DB_ALIAS, self._names, row[self._from : self._to])
        for populator in self._populators:
            populator.populate(row, made)
        for name, place in self._annotations:
            setattr(made, name, row[place])
        return made


def _from_cursor(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def from_kept(sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Sequence[Sequence[Any]]:
    """The rows of a statement that the server keeps. Django's own cursors write the values into the text, which the
    server then reads and plans anew."""
    if connection.execute_wrappers or connection.queries_logged:
        return _from_cursor(sql, values)
    connection.ensure_connection()
    server: Any = connection.connection
    with connection.wrap_database_errors:
        return psycopg.Cursor(server).execute(sql, values).fetchall()
