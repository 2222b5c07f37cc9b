"""`flush` for a test database: rows are deleted instead of tables truncated.

Django's takes a lock on every table, makes each of them anew and writes permissions and content types again: a second,
where a test leaves a hundred rows. And it deadlocks with whatever a page that was just closed still asks for."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import psycopg
from django.core.management.commands import flush
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

STAY = ("django_migrations", "django_content_type", "auth_permission")
PATIENCE = 10.0
"""Seconds for what is still under way in other processes."""
OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND backend_type = 'client backend' AND xact_start IS NOT NULL"""


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('is_superuser') = 'on'")
            if cursor.fetchone() != (True,):
                # Only such a one may delete past the guards of what is append-only.
                super().handle(**options)
                return
            _let_others_end(cursor)
            with transaction.atomic():
                # Neither guards nor foreign keys: everything goes.
                cursor.execute("SET LOCAL session_replication_role = replica")
                for table in _with_rows():
                    cursor.execute(f"DELETE FROM {table}")


def _let_others_end(cursor: CursorWrapper) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        cursor.execute(OTHERS)
        if cursor.fetchone() == (0,):
            return
        time.sleep(0.02)


def _with_rows() -> list[str]:
    """The server keeps the statement: to plan it anew takes ten times as long as to answer it."""
    with psycopg.Cursor(connection.connection) as cursor:
        return [
            table for (table,) in cursor.execute(_question(connection.settings_dict["NAME"]), prepare=True)
        ]


@cache
def _question(database: str) -> bytes:
    """Once for each database: its tables stay, and the catalogue is slow."""
    names = [name for name in connection.introspection.table_names() if name not in STAY]
    quoted = [connection.ops.quote_name(name) for name in names]
    return " UNION ALL ".join(
        f"SELECT '{each}' WHERE EXISTS (SELECT FROM {each})" for each in quoted
    ).encode()
