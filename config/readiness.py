"""Web and worker load what they need while the database is being prepared, and wait here before they use it: their
supervisor holds one end of a pipe, and closes it when the database is ready."""

from __future__ import annotations

import os

VARIABLE = "GATELINE_READINESS"


def must_wait_for_database() -> bool:
    """Tell whether this process was started before the database was ready."""
    return VARIABLE in os.environ


def wait_for_database() -> None:
    pipe = int(os.environ.pop(VARIABLE))
    while os.read(pipe, 1):
        continue
    os.close(pipe)
