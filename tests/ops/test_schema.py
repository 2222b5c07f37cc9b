"""Tables come from one file an app: it says what the models say, and databases of the single steps of before go on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.plugin import DjangoDbBlocker

from tests.fixtures.site import ROOT, database_url, environment
from tests.waiting import LONG

OURS = ("pipelines", "reviews")
OF_OUR_TABLES = "~ '^(pipelines|reviews)_'"
QUERIES = (
    "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default, is_identity"
    f" FROM information_schema.columns WHERE table_schema = 'public' AND table_name {OF_OUR_TABLES}",
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)"
    f" FROM pg_constraint WHERE conrelid::regclass::text {OF_OUR_TABLES} AND contype <> 'n'",
    f"SELECT tablename, indexname, indexdef FROM pg_indexes WHERE tablename {OF_OUR_TABLES}",
)
ONLY_IN_SQL = {"task_text_grams"}


@pytest.fixture
def scratch(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The alias of an empty database of its own."""
    with django_db_blocker.unblock():
        default = connections["default"]
        name = f"{default.settings_dict['NAME']}_before"
        with default.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
            cursor.execute(f'CREATE DATABASE "{name}"')
        connections.databases["scratch"] = {**connections.databases["default"], "NAME": name}
        try:
            yield "scratch"
        finally:
            connections["scratch"].close()
            if hasattr(connections["scratch"], "close_pool"):
                connections["scratch"].close_pool()
            del connections["scratch"]
            del connections.databases["scratch"]
            with default.cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def parts_of_tables(alias: str) -> set[tuple[Any, ...]]:
    with connections[alias].cursor() as cursor:
        rows: set[tuple[Any, ...]] = set()
        for query in QUERIES:
            cursor.execute(query)
            rows |= set(cursor.fetchall())
    return rows


@pytest.mark.wide
def test_the_tables_are_those_of_the_models(scratch: str) -> None:
    call_command("migrate", "contenttypes", database=scratch, verbosity=0)
    call_command("migrate", "auth", database=scratch, verbosity=0)
    loader = MigrationLoader(connections[scratch])
    for app in OURS:
        node = (app, "0001_schema")
        models = loader.get_migration(*node).operations[-1].state_operations
        with connections[scratch].schema_editor() as editor:
            for model in models:
                model.database_forwards(app, editor, None, loader.project_state(node))
        for step in loader.get_migration(*node).replaces:
            MigrationRecorder(connections[scratch]).record_applied(*step)
    call_command("migrate", database=scratch, verbosity=0)
    made_by_models, shipped = parts_of_tables(scratch), parts_of_tables("default")
    assert len(shipped) > 1500
    assert {row[1] for row in made_by_models ^ shipped} == ONLY_IN_SQL


def prepare(alias: str) -> subprocess.CompletedProcess[str]:
    """The command as an operator runs it on a PostgreSQL of their own."""
    return subprocess.run(
        [sys.executable, "manage.py", "prepare"],
        cwd=ROOT,
        env=environment(DATABASE_URL=database_url(connections.databases[alias]["NAME"])),
        capture_output=True,
        text=True,
        timeout=LONG,
    )


def as_recorded_before(alias: str) -> list[tuple[str, str]]:
    """The record of a database that took every single step; the newest last."""
    recorder = MigrationRecorder(connections[alias])
    steps = []
    for app in OURS:
        recorder.record_unapplied(app, "0001_schema")
        steps += MigrationLoader(None).get_migration(app, "0001_schema").replaces
    for app, name in steps:
        recorder.record_applied(app, name)
    return steps


@pytest.mark.wide
def test_a_database_of_the_single_steps_goes_on_and_one_in_their_midst_is_refused(scratch: str) -> None:
    call_command("migrate", database=scratch, verbosity=0)
    steps = as_recorded_before(scratch)
    done = prepare(scratch)
    assert done.returncode == 0, done.stderr
    assert "Setting up the database" not in done.stdout
    recorder = MigrationRecorder(connections[scratch])
    for app in OURS:
        recorder.record_unapplied(app, "0001_schema")
    recorder.record_unapplied(*steps[-1])
    before = parts_of_tables(scratch)

    refused = prepare(scratch)

    assert refused.returncode == 1
    assert "reviews has 13 of the 14 steps" in refused.stderr
    assert "Back up" in refused.stderr and steps[-1][1] in refused.stderr
    assert "Traceback" not in refused.stderr
    assert parts_of_tables(scratch) == before
