"""Pauses of loops that look for work now and then. Those of an idle installation end together: processes and threads
that wake at the same moment find one another's memory warm, which costs half as much."""

from __future__ import annotations

import time
from typing import Final

IDLE_SECONDS: Final = 30.0
"""Between two looks of an idle process that is told of all that begins: for a notice that was lost."""


def aligned_pause(period: float) -> float:
    """Return the seconds to the next multiple of a period on the clock that all processes of a machine share: at most
    the period."""
    return period - time.monotonic() % period
