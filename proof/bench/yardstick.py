"""How fast this machine is now: seconds of 20 million additions in a loop of Python, 0.42 on the quiet machine of most
figures in proof/proof.md."""

from __future__ import annotations

import time


def yardstick() -> float:
    began, total = time.perf_counter(), 0
    for number in range(20_000_000):
        total += number
    return round(time.perf_counter() - began, 2)
