"""The clock of the database: the only one that decides when something is over (house §4)."""

from __future__ import annotations

from datetime import datetime

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.statements import NOW


def now() -> datetime:
    """Return the current time of the database, also inside a transaction (whose own `now()` does not advance)."""
    at: datetime = fetch(NOW)[0][0]
    return at
