"""Errors of messages that go over Redis."""

from __future__ import annotations

import sys


def errors_with_redis_if_loaded(*always: type[Exception]) -> tuple[type[Exception], ...]:
    """Return these errors and those of Redis' client, to be caught; these alone where nothing has loaded it.
    Channels' layer does, if a Redis is named: to load it for its errors alone would take every tenth part
    of the start of each process."""
    # Not imported: without a Redis it would take a tenth of the start of each process
    loaded = sys.modules.get("redis.exceptions")
    return (*always, loaded.RedisError) if loaded else always
