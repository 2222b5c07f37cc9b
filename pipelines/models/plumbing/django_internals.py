"""Parts of Django that this program uses beyond what Django documents: here alone, so that the next version is tried by
`.ci/next-django`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.query import FlatValuesListIterable, ModelIterable
from django.db.models.query import get_related_populators as populators_of  # type: ignore[attr-defined]
from django.db.models.sql.compiler import SQLCompiler
from django.db.models.sql.datastructures import BaseTable

Row = TypeVar("Row", bound=Model)


def blank_row(model: type[Row], *, adding: bool) -> Row:
    """Make a row without any field. Its class's own way costs more than a move decides with."""
    row = model.__new__(model)
    row._state = state = ModelState()
    if not adding:
        state.adding, state.db = False, DEFAULT_DB_ALIAS
    return row


def set_related(row: Model, name: str, other: Model | None) -> None:
    """Let a foreign key lead to a row that is known."""
    row._state.fields_cache[name] = other


def set_prefetched(parents: Iterable[Any], name: str, children: Sequence[Any], by: str) -> None:
    """Leave them as `prefetch_related` does: `parent.name.all()` has those whose `by` is its id."""
    of: dict[Any, list[Any]] = {}
    for child in children:
        of.setdefault(getattr(child, by), []).append(child)
    for parent in parents:
        manager = getattr(parent, name)
        rows = manager.model._default_manager.all()
        # As Django does it: who filters what is here asks for rows of this parent, and not for those of all
        rows._defer_next_filter = True
        rows = rows.filter(**manager.core_filters)
        # A parent without children gets an empty list: without one Django would ask for them
        rows._result_cache, rows._prefetch_done = of.get(parent.pk, []), True
        vars(parent).setdefault("_prefetched_objects_cache", {})[name] = rows


def is_watched() -> bool:
    """Tell whether somebody wants to see each statement: a test, a tracer."""
    return bool(connection.execute_wrappers or connection.queries_logged)


def connection_and_error_context() -> tuple[Any, AbstractContextManager[None]]:
    """Open the connection: psycopg's own, and the context that makes its errors Django's."""
    connection.ensure_connection()
    return connection.connection, connection.wrap_database_errors


class CompiledStatement:
    """Statement that a compiler has written, with how it makes objects of rows (`ModelIterable`)."""

    def __init__(self, written: QuerySet[Any, Any]) -> None:
        besides = written._prefetch_related_lookups  # type: ignore[attr-defined]
        assert not besides, "what is fetched besides has statements of its own"
        self._compiler = compiler = written.query.get_compiler(DEFAULT_DB_ALIAS)
        self.sql, self.parameters = compiler.as_sql()
        self._flat = written._iterable_class is FlatValuesListIterable
        select, info = compiler.select, compiler.klass_info
        assert select is not None and not compiler.has_extra_select
        self._converters = compiler.get_converters([column[0] for column in select[: compiler.col_count]])
        # What is left to do with it needs no connection of one thread.
        compiler.connection = connection
        self._annotations = list((compiler.annotation_col_map or {}).items())
        self._model: type[Model] | None = None
        if written._iterable_class is ModelIterable:
            assert info is not None
            fields = info["select_fields"]
            self._model, self._from, self._to = info["model"], fields[0], fields[-1] + 1
            columns: Iterable[Any] = select[self._from : self._to]
            self._names = [column[0].target.attname for column in columns]
            # Since Django 6.1 rows know how they fetch what was left out.
            how = [written._fetch_mode] if hasattr(written, "_fetch_mode") else []
            self._populators = populators_of(info, select, DEFAULT_DB_ALIAS, *how)

    def objects_or_values_of_rows(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        if self._converters:
            rows = list(self._compiler.apply_converters(rows, self._converters))
        if self._model is None:
            return [row[0] for row in rows] if self._flat else list(map(tuple, rows))
        return [self._model_instance(row) for row in rows]

    def _model_instance(self, row: Sequence[Any]) -> Any:
        assert self._model is not None
        made = self._model.from_db(DEFAULT_DB_ALIAS, self._names, row[self._from : self._to])
        for populator in self._populators:
            populator.populate(row, made)
        for name, place in self._annotations:
            setattr(made, name, row[place])
        return made


def restrict_to_first(rows: QuerySet[Row], first: QuerySet[Row]) -> QuerySet[Row]:
    """Select those of these rows that are among the `first`: read from these in place of the table. By their ids the
    planner would look for them in all rows that fit."""
    queryset = rows.all()
    name = queryset.query.get_initial_alias()
    # In place of the table: with `id IN (…)` the planner goes through all rows that fit
    queryset.query.alias_map[name] = FirstRows(rows.model._meta.db_table, name, first)
    return queryset


class FirstRows(BaseTable):
    """The rows of a limited QuerySet in place of their table."""

    def __init__(self, table: str, alias: str, rows: QuerySet[Any]) -> None:
        super().__init__(table, alias)
        self.rows, self.name = rows, alias

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        sql, values = self.rows.query.get_compiler(connection=connection).as_sql()
        return f"({sql}) {compiler.quote_name_unless_alias(self.name)}", list(values)
