"""How long one call takes; of the standard library alone, for contenders are measured without the product."""

from __future__ import annotations

import time
from collections.abc import Callable


def microseconds(ask: Callable[[], object], rounds: int) -> float:
    """Of one call, processor time: the best of five, since other work only ever adds."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for _ in range(rounds):
            ask()
        best = min(best, time.process_time() - began)
    return best / rounds * 1e6
