"""Set-based writes: one UPDATE for any number of rows, the same text for one as for fifty (house §2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from django.db import connection, models


class LostRow(RuntimeError):
    """A row that this transaction locked was not there to be written."""


def update(rows: Sequence[models.Model], names: Iterable[str]) -> None:
    """Write the named fields of all rows (of one model), by one statement; every row must be there."""
    if not rows:
        return
    model, names = type(rows[0]), tuple(names)
    with connection.cursor() as cursor:
        cursor.execute(_statement(model, names), [_column(model, name, rows) for name in ("pk", *names)])
        if cursor.rowcount != len(rows):
            raise LostRow(f"{cursor.rowcount} of {len(rows)} rows of {model.__name__} were written")


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    found = model._meta.pk if name == "pk" else model._meta.get_field(name)
    assert isinstance(found, models.Field)
    return found


@lru_cache(maxsize=256)
def _statement(model: type[models.Model], names: tuple[str, ...]) -> str:
    quote = connection.ops.quote_name
    pairs = ", ".join(f"{quote(_field(model, name).column)} = v.c{i}" for i, name in enumerate(names, 1))
    casts = ", ".join(_cast(_field(model, name)) for name in ("pk", *names))
    columns = ", ".join(f"c{i}" for i in range(len(names) + 1))
    table, key = quote(model._meta.db_table), quote(_field(model, "pk").column)
    return f"UPDATE {table} AS t SET {pairs} FROM unnest({casts}) AS v({columns}) WHERE t.{key} = v.c0"


def _cast(field: models.Field[Any, Any]) -> str:
    kind = str(field.db_type(connection))
    if kind == "jsonb":
        return "%s::text[]::jsonb[]"
    # A cast to varchar(n) would cut silently; the assignment refuses instead.
    return "%s::text[]" if kind.startswith("varchar") else f"%s::{kind}[]"


def _column(model: type[models.Model], name: str, rows: Sequence[models.Model]) -> list[Any]:
    field = _field(model, name)
    values = [getattr(row, field.attname) for row in rows]
    if isinstance(field, models.JSONField):
        return [None if value is None else json.dumps(value) for value in values]
    return [str(value) if isinstance(value, models.Choices) else value for value in values]
