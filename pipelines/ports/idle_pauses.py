"""Pauses of loops that look for work now and then, where there is nothing to do. Each wakes at a part of the period of
its own, so that no half of a period costs more than the other."""

from __future__ import annotations

import time
from typing import Final

IDLE_SECONDS: Final = 60.0
"""Between two looks of an idle process that is told of all that begins: for a notice that was lost."""
RENEWAL, LOOK_AROUND, OUTLOOK = 0.0, IDLE_SECONDS / 3, 2 * IDLE_SECONDS / 3
"""When in the period a worker shows that it lives, looks at its machine, and looks what becomes due."""


def seconds_until_part_of_period(part: float, period: float = IDLE_SECONDS) -> float:
    """Return the seconds to the next time of this part of a period, on the clock that all processes of a machine share:
    at most the period."""
    return period - (time.monotonic() - part) % period
