"""A clock of the database that can be set, for the engine and everything that it calls.

The engine knows one clock: `clock_timestamp()` of the database (house §4). A schema that stands before `pg_catalog` in
the search path holds a function of the same name, which adds what a row says. So no statement of the engine, of the
leases or of the sweep is changed, and the clock can go forward and back between any two transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import connection

INSTALL = """
    CREATE SCHEMA IF NOT EXISTS skewed;
    CREATE TABLE IF NOT EXISTS skewed.clock (ahead interval NOT NULL, stopped timestamptz);
    TRUNCATE skewed.clock;
    INSERT INTO skewed.clock VALUES (interval '0', NULL);
    CREATE OR REPLACE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT coalesce(stopped, pg_catalog.clock_timestamp()) + ahead FROM skewed.clock';
"""
# A server that has only just started sweeps nothing (`leases.expired_leases`): the clock is never set back behind
# its start.
BASE = timedelta(days=30)


@contextmanager
def installed() -> Iterator[None]:
    """For every connection to the test database that is opened inside."""
    name = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        cursor.execute(INSTALL)
        cursor.execute(f"ALTER DATABASE {name} SET search_path = skewed, public, pg_catalog")
    _reconnect()
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} RESET search_path")
            cursor.execute("DROP SCHEMA skewed CASCADE")
        _reconnect()


def _reconnect() -> None:
    connection.close()
    database: Any = connection
    database.close_pool()


def set_ahead(ahead: timedelta) -> None:
    """How far the database's clock is ahead of the machine's, on top of `BASE`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE skewed.clock SET ahead = make_interval(secs => %s)", [(BASE + ahead).total_seconds()]
        )


def stop() -> None:
    """From now on the database's clock goes only by `set_ahead`, however long anything takes."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE skewed.clock SET stopped = pg_catalog.clock_timestamp()")
    set_ahead(timedelta(0))
