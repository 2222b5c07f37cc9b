"""The database of a backup: what pg_dump writes in one snapshot, and psql reads in one transaction."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import dj_database_url
from django.conf import settings
from django.db import connection
from django.db.backends.postgresql.client import DatabaseClient
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.embedded import binaries
from config.embedded.errors import LauncherError

EMPTY_SCHEMA = b"DROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n"
# Written by a pg_dump from 17 on; an older server does not know it.
NEWER_SETTING = b"SET transaction_timeout"
# Characters of a program's error output that the message repeats
LAST_WORDS = 2000
FOLDERS = "pipelines_allowedfolder"


def applied_migrations() -> list[str]:
    """The steps that this database has taken, as `app.name`."""
    return sorted(".".join(key) for key in MigrationRecorder(connection).applied_migrations())


def migrations_unknown_here(names: Iterable[str]) -> list[str]:
    """Steps that this Gateline does not know, neither as one of its own nor as one that was put into another."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    steps = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        steps.update(migration.replaces)
    return [name for name in names if tuple(name.split(".", 1)) not in steps]


def server_version() -> int:
    """The major version of the server."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        (number,) = cursor.fetchone()
    return int(number) // 10000


def has_no_tables() -> bool:
    """Tell whether the database has no table."""
    return not connection.introspection.table_names()


def names_of_other_connections() -> list[str]:
    """Names of what else is connected to this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT coalesce(nullif(application_name, ''), 'a program without a name') FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        # Whoever restores is told by name whom to stop
        return sorted(name for (name,) in cursor.fetchall())


def dump_database(path: Path) -> None:
    """Writes one consistent state of the database into a new file, compressed.

    :raises LauncherError: pg_dump is not there, or has failed"""
    command, environment = _program_command_and_environment(
        "pg_dump", "--no-owner", "--no-privileges", "--no-comments"
    )
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        # A low level: higher ones take long for a little less
        with gzip.open(path, "xb", compresslevel=4) as file:
            shutil.copyfileobj(process.stdout, file, 1 << 20)
        words = process.stderr.read()
    if process.returncode:
        raise _program_failure("pg_dump", words)


def load_database(path: Path, *, replace: bool) -> None:
    """Reads what `dump` wrote, all of it or nothing. `replace`: drops what the database has, in the same
    transaction.

    :raises LauncherError: psql is not there, or has failed; the database is as it was"""
    # -X: nobody's .psqlrc has a say here. -o: each number of a sequence that is set would be
    # printed
    words = ("-X", "-q", "-o", os.devnull, "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", "-")
    command, environment = _program_command_and_environment("psql", *words)
    server_knows, errors = server_version() >= 17, path.with_suffix(".errors")
    connection.close()
    # Errors go to a file: a pipe that is full would block psql while it is still being fed.
    with errors.open("wb") as stderr, gzip.open(path, "rb") as lines:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=stderr)
        assert process.stdin is not None
        try:
            process.stdin.write(EMPTY_SCHEMA if replace else b"")
            process.stdin.writelines(lines if server_knows else _lines_without_newer_settings(lines))
            process.stdin.close()
        except BrokenPipeError:
            pass  # psql has said why
        process.wait()
    if process.returncode:
        raise _program_failure("psql", errors.read_bytes())


def _lines_without_newer_settings(lines: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    return (line for line in lines if not line.startswith(NEWER_SETTING))


def _program_command_and_environment(program: str, *words: str) -> tuple[list[str], dict[str, str]]:
    facts: dict[str, Any] = dict(settings.DATABASES["default"])
    if settings.DATABASE_DIRECT_URL:
        facts |= dj_database_url.parse(settings.DATABASE_DIRECT_URL)
    # psql's own words for user, host, port and database; pg_dump has the same.
    address, variables = DatabaseClient.settings_to_cmd_args_env(facts, [])
    # address[0] is the name psql, which _program gives with its path.
    return [str(_program_path(program)), *words, *address[1:]], {**os.environ, **(variables or {})}


def _program_path(name: str) -> Path:
    # pg_dump refuses a server newer than itself: the embedded one gets its own major version.
    major = server_version() if settings.EMBEDDED_DATABASE else None
    path = binaries.find_binaries(major).folder / name
    other = None if path.exists() else shutil.which(name)
    if not path.exists() and other is None:
        raise LauncherError(
            f"{name} was not found in {path.parent}, nor on this system.",
            "Install the client programs of PostgreSQL, or name the folder of one that has them in PG_BIN.",
        )
    return Path(other) if other else path


def _program_failure(program: str, words: bytes) -> LauncherError:
    return LauncherError(
        f"{program} ended with an error:\n{words.decode(errors='replace').strip()[-LAST_WORDS:]}",
        "Nothing was changed. Where it speaks of versions, name a newer PostgreSQL in PG_BIN; where of the owner of a "
        "schema or of a right, connect as the owner of the database.",
    )


def allow_folders_again(home: Path) -> None:
    """Let folders below the state folder that an administrator had allowed stay allowed: unpacked, they have other
    inodes."""
    if FOLDERS not in connection.introspection.table_names():
        return  # of a version before folders were allowed
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, path FROM {FOLDERS}")
        for folder_id, path in cursor.fetchall():
            if Path(path).is_relative_to(home) and Path(path).is_dir():
                inode = Path(path).stat().st_ino
                cursor.execute(f"UPDATE {FOLDERS} SET inode = %s WHERE id = %s", [inode, folder_id])
