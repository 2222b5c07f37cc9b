"""Budget of an agent's questions: deciding costs the server time, so that there are so many a minute."""

from __future__ import annotations

from collections import deque
from typing import Final

MOST_CALLS: Final = 30
SECONDS: Final = 60.0


class CallBudget:
    """Calls within the last minute, of one job."""

    def __init__(self, most: int = MOST_CALLS) -> None:
        self._most, self._times = most, deque[float]()

    def try_to_take_call(self, now: float) -> bool:
        """Count one call; False where there were too many already, which then does not count."""
        while self._times and self._times[0] <= now - SECONDS:
            self._times.popleft()
        if len(self._times) >= self._most:
            return False
        self._times.append(now)
        return True
