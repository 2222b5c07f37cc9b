"""Pauses of loops that look for work now and then. Those of an idle installation end together: processes and threads
that wake at the same moment find one another's memory warm, which costs half as much."""

from __future__ import annotations

import time


def aligned_pause(period: float) -> float:
    """Return the seconds to the next multiple of a period on the clock that all processes of a machine share: at most
    the period."""
    return period - time.monotonic() % period
