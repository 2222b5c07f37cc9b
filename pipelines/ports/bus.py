"""What goes wrong where messages go over Redis."""

from __future__ import annotations

import sys


def bus_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """These and the errors of Redis' client, to be caught; these alone where nothing has loaded it. Channels' layer
    does, if a Redis is named: for its errors alone it would take every tenth part of the start of each process."""
    loaded = sys.modules.get("redis.exceptions")
    return (*more, loaded.RedisError) if loaded else more
