"""The clock of the database: the only one that decides when something is over (house §4)."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from pipelines.ports.statements import NOW


def now() -> datetime:
    """Also inside a transaction, whose own time stands still."""
    with connection.cursor() as cursor:
        cursor.execute(NOW)
        at: datetime = cursor.fetchone()[0]
    return at
