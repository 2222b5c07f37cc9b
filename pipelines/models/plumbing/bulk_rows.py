"""Set-based writes, the same text for one row as for fifty (house §2), and rows as they come and go in JSON.

A model's `__init__` costs more than a move decides with; rows that this module makes have the same fields set."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeVar

import orjson
from django.contrib.postgres.fields import ArrayField
from django.db import DEFAULT_DB_ALIAS, connection, models

from pipelines.models.plumbing.compiled_queries import LostRow, Statement, execute_all_and_fetch
from pipelines.models.plumbing.django_internals import blank_row, set_related

__all__ = [
    "LostRow",
    "insert_rows",
    "insert_statement",
    "new_row",
    "row_from_json",
    "update_rows",
    "update_statement",
]
Model = TypeVar("Model", bound=models.Model)
READ: dict[type[models.Field[Any, Any]], Callable[[Any], Any]] = {
    models.DateTimeField: datetime.fromisoformat,
    models.DateField: date.fromisoformat,
    models.TimeField: time.fromisoformat,
    models.UUIDField: uuid.UUID,
    models.DecimalField: lambda value: Decimal(str(value)),
}
"""What JSON has no type for."""


def row_from_json(model: type[Model], row: dict[str, Any]) -> Model:
    """A row that PostgreSQL wrote as JSON."""
    for name, convert in _column_converters(model):
        if row[name] is not None:
            row[name] = convert(row[name])
    instance = blank_row(model, adding=False)
    instance.__dict__.update(row)
    return instance


def new_row(model: type[Model], **values: Any) -> Model:
    """Return an instance that is not written yet, with the model's defaults: `model(**values)`. A foreign key
    is passed as the row that it names, or by its own name."""
    fixed, made, links = _default_values_functions_and_foreign_keys(model)
    instance = blank_row(model, adding=True)
    attributes = instance.__dict__
    attributes.update(fixed)
    for name, make in made:
        if name not in values:
            attributes[name] = make()
    for name, attname, key in links:
        if name in values:
            row = values.pop(name)
            set_related(instance, name, row)
            # Not from its `__dict__`: whoever asks may come as a SimpleLazyObject.
            attributes[attname] = None if row is None else getattr(row, key)
    attributes.update(values)
    return instance


@lru_cache
def _default_values_functions_and_foreign_keys(
    model: type[models.Model],
) -> tuple[dict[str, Any], tuple[tuple[str, Callable[[], Any]], ...], tuple[tuple[str, str, str], ...]]:
    """Return the defaults of a model's fields: the default values, the functions that make one anew for each
    row, and the foreign keys, each with the attribute of the row that it names."""
    fields = model._meta.concrete_fields
    anew = {
        field.attname: field.default for field in fields if field.has_default() and callable(field.default)
    }
    fixed = {field.attname: field.get_default() for field in fields if field.attname not in anew}
    links = tuple(
        (field.name, field.attname, field.target_field.attname)
        for field in fields
        if isinstance(field, models.ForeignKey)
    )
    return fixed, tuple(anew.items()), links


@lru_cache
def _column_converters(model: type[models.Model]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    converters = []
    for field in model._meta.concrete_fields:
        # Rows pass as JSON by the names of columns, and are set as attributes.
        assert field.column == field.attname, f"{field} has a column of another name"
        # A foreign key has the type of what it names.
        kind = type(field.target_field) if isinstance(field, models.ForeignKey) else type(field)
        if kind in READ:
            converters.append((field.attname, READ[kind]))
        elif isinstance(field, ArrayField) and type(field.base_field) in READ:
            converters.append((field.attname, partial(_convert_all, READ[type(field.base_field)])))
    return tuple(converters)


def _convert_all(convert: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    return [convert(value) for value in values]


def update_rows(rows: Sequence[models.Model], names: Iterable[str]) -> None:
    """Write the named fields of all rows (of one model), by one statement; every row must be there."""
    if rows:
        execute_all_and_fetch([update_statement(rows, tuple(names))])


def update_statement(rows: Sequence[models.Model], names: tuple[str, ...]) -> Statement:
    model = type(rows[0])
    text, columns = _update_sql_and_columns(model, names)
    return Statement(text, [_rows_as_json_text(rows, columns)], len(rows), f"rows of {model.__name__}")


def insert_statement(rows: Sequence[models.Model]) -> Statement:
    """Return the statement that inserts all fields of new rows that have their keys."""
    model = type(rows[0])
    text, columns = _insert_sql_and_columns(model)
    for row in rows:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return Statement(text, [_rows_as_json_text(rows, columns)], len(rows), f"rows of {model.__name__}")


def insert_rows(rows: Sequence[models.Model], *, unless_there: bool = False) -> None:
    """Write new rows (of one model) that get their keys from the database, by one statement. `unless_there`: those
    that would break a unique rule are left out, and none gets its key."""
    if not rows:
        return
    model = type(rows[0])
    text, columns = _insert_sql_and_columns(model, but_key=True)
    if unless_there:
        # No key comes back for what is left out, so that none can be told from another
        execute_all_and_fetch(
            [Statement(f"{text} ON CONFLICT DO NOTHING", [_rows_as_json_text(rows, columns)])]
        )
        return
    text = f"{text} RETURNING {model._meta.pk.column}"
    [keys] = execute_all_and_fetch(
        [Statement(text, [_rows_as_json_text(rows, columns)], len(rows), f"rows of {model.__name__}")]
    )
    for row, (key,) in zip(rows, keys, strict=True):
        row.pk = key
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


Columns = tuple[str, ...]


@lru_cache(maxsize=256)
def _update_sql_and_columns(model: type[models.Model], names: Columns) -> tuple[str, Columns]:
    fields = [model._meta.pk, *(model._meta.get_field(name) for name in names)]
    columns = tuple(str(field.attname) for field in fields if isinstance(field, models.Field))
    key, *others = map(connection.ops.quote_name, columns)
    pairs = ", ".join(f"{column} = v.{column}" for column in others)
    return (
        f"UPDATE {_quoted_table(model)} AS t SET {pairs} FROM {_row_set_text(model)} WHERE t.{key} = v.{key}",
        columns,
    )


@lru_cache(maxsize=64)
def _insert_sql_and_columns(model: type[models.Model], *, but_key: bool = False) -> tuple[str, Columns]:
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    if but_key:
        fields.remove(model._meta.pk)
    columns = tuple(field.attname for field in fields)
    column_list = ", ".join(map(connection.ops.quote_name, columns))
    return (
        f"INSERT INTO {_quoted_table(model)} ({column_list}) SELECT {column_list} FROM {_row_set_text(model)}",
        columns,
    )


def _quoted_table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _row_set_text(model: type[models.Model]) -> str:
    """The rows of the parameter, each value read as its column reads it: too long a text is refused, not cut."""
    return f"json_populate_recordset(NULL::{_quoted_table(model)}, %s::json) v"


def _rows_as_json_text(rows: Sequence[models.Model], columns: Columns) -> str:
    records = [{name: row.__dict__[name] for name in columns} for row in rows]
    try:
        return orjson.dumps(records).decode()
    except TypeError:
        # What orjson refuses: a number of more than 64 bits, or a key that is no text. It happens to hardly any row.
        return json.dumps(records, default=_json_text_of_value)


def _json_text_of_value(value: Any) -> str:
    """Return the text of a value that JSON has no type for; orjson writes it so by itself."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a row")
