"""Notices of due times: a worker looks now and then for what becomes due, and is told of what does so sooner."""

from __future__ import annotations

from typing import Final

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.idle_pauses import IDLE_SECONDS
from pipelines.ports.statements import ANNOUNCE

CHANNEL: Final = "gateline_due"
LOOK_SECONDS: Final = IDLE_SECONDS
"""An idle worker looks as often. A due time that is set nearer than this has to be announced."""


def announce_due_times_on_commit() -> None:
    """Tell all workers, when the transaction is committed, to look at once."""
    fetch(ANNOUNCE, [CHANNEL])
