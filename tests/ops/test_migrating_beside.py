"""Migrations while an older version runs: one that meets it at a table gives way, and is done again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError
from django.db import connection, transaction

from config import first_start
from tests.fixtures.site import database_url
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db(transaction=True)
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'migrated_first'::regclass"


@pytest.fixture
def two_tables() -> Iterator[None]:
    with psycopg.connect(database_url(), autocommit=True) as tables:
        for name in ("migrated_first", "migrated_second"):
            tables.execute(f"CREATE TABLE {name} ()")
        yield
        tables.execute("DROP TABLE migrated_first, migrated_second")


class Migration:
    """Changes two tables in one transaction, as `migrate` does; at its first tries beside a process that reads the
    second and then asks for the first."""

    def __init__(self, older: psycopg.Connection, deadlocks: int) -> None:
        self.older, self.deadlocks, self.tries = older, deadlocks, 0

    def __call__(self, *words: str, **more: Any) -> None:
        self.tries += 1
        beside = self.tries <= self.deadlocks
        with ThreadPoolExecutor(1) as pool:
            if beside:
                # The migration is the one that finds out.
                self.older.execute("SET deadlock_timeout = '10min'")
                self.older.execute("SELECT FROM migrated_second")
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute("SET LOCAL deadlock_timeout = '10ms'")
                    cursor.execute("ALTER TABLE migrated_first ADD COLUMN done int")
                    if beside:
                        asking = pool.submit(self.older.execute, "SELECT FROM migrated_first")
                        with psycopg.connect(database_url(), autocommit=True) as looking:
                            until(lambda: looking.execute(WAITING).fetchone() == (1,), "the older process")
                    cursor.execute("ALTER TABLE migrated_second ADD COLUMN done int")
            finally:
                if beside:
                    asking.result(LONG)
                    self.older.rollback()


def test_a_migration_that_lost_a_deadlock_is_done_again(
    two_tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_start, "MIGRATION_PAUSES", (0.0, 0.0, 0.0))
    with psycopg.connect(database_url()) as older:
        migration = Migration(older, 2)
        monkeypatch.setattr(first_start, "call_command", migration)
        first_start._migrate_beside_older_processes()
    assert migration.tries == 3
    with connection.cursor() as cursor:
        cursor.execute("SELECT done FROM migrated_first, migrated_second s (also)")


def test_the_last_error_is_told_with_its_remedy(two_tables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_start, "MIGRATION_PAUSES", (0.0, 0.0))
    with psycopg.connect(database_url()) as older:
        migration = Migration(older, 9)
        monkeypatch.setattr(first_start, "call_command", migration)
        with pytest.raises(CommandError, match=r"deadlock(?s:.)*Stop the web processes and workers"):
            first_start._migrate_beside_older_processes()
    assert migration.tries == 2


def test_a_migration_gives_way_to_a_process_that_holds_its_table(
    two_tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits behind it for longer than it waits itself, and it is done when the table is free."""
    monkeypatch.setattr(first_start, "MIGRATION_LOCK_WAIT", "20ms")
    monkeypatch.setattr(first_start, "MIGRATION_PAUSES", (0.0, 0.0, 0.0))
    tries = []
    with psycopg.connect(database_url()) as older:
        older.execute("SELECT FROM migrated_first")

        def migrate(*words: str, **more: Any) -> None:
            tries.append(words)
            if len(tries) == 3:
                older.rollback()
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("ALTER TABLE migrated_first ADD COLUMN done int")

        monkeypatch.setattr(first_start, "call_command", migrate)
        first_start._migrate_beside_older_processes()
    assert len(tries) == 3
    with connection.cursor() as cursor:
        cursor.execute("SELECT done FROM migrated_first")
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)
