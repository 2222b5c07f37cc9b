"""The clock and the chance of a recording: both give the same in every run. Imported before Django."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import sys
import time
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.utils import timezone

BEGIN = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
# Schemas are searched in this order, so that a statement finds these functions before those of PostgreSQL.
FUNCTIONS = "CREATE SCHEMA recording;" + "".join(
    f"CREATE FUNCTION recording.{name}() RETURNS timestamptz LANGUAGE sql STABLE AS"
    " $$ SELECT current_setting('recording.now')::timestamptz $$;"
    for name in ("clock_timestamp", "now", "statement_timestamp", "transaction_timestamp")
)
ORDER = "SET search_path = recording, public, pg_catalog"


class Chance:
    """Bytes that depend on the seed, and on how many were taken since it was set."""

    def __init__(self) -> None:
        self.seed("")

    def seed(self, text: str) -> None:
        self.text, self.numbers = text, itertools.count()

    def take(self, size: int) -> bytes:
        return hashlib.shake_128(f"{self.text} {next(self.numbers)}".encode()).digest(size)


class Clock:
    """It stands still until it is set."""

    now = BEGIN

    def read(self) -> datetime:
        return self.now

    def set(self, since: timedelta) -> None:
        """In this process and in the database, for the connections that are there and for those to come."""
        self.now = BEGIN + since
        name, moment = connection.settings_dict["NAME"], self.now.isoformat()
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE \"{name}\" SET recording.now = '{moment}'")
            cursor.execute(f"SET recording.now = '{moment}'")

    def into_database(self) -> None:
        name = connection.settings_dict["NAME"]
        with connection.cursor() as cursor:
            cursor.execute(FUNCTIONS)
            cursor.execute(f'ALTER DATABASE "{name}" {ORDER}')
            cursor.execute(ORDER)
        self.set(timedelta())


CHANCE, CLOCK = Chance(), Clock()


def fix() -> None:
    """Take the place of the clock and of the system's random bytes. Sets of texts have another order in each process,
    unless it is started with a seed: this starts it anew."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [*sys.orig_argv], os.environ | {"PYTHONHASHSEED": "0"})
    os.urandom = CHANCE.take
    random._urandom = CHANCE.take  # type: ignore[attr-defined]
    random.seed(0)
    timezone.now = CLOCK.read
    time.time = lambda: CLOCK.now.timestamp()
    time.time_ns = lambda: int(CLOCK.now.timestamp() * 10**9)
    time.perf_counter, time.perf_counter_ns = lambda: 0.0, lambda: 0
