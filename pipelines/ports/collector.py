"""What a process that serves for long does once it has loaded what it needs."""

from __future__ import annotations

import gc


def settle_down() -> None:
    """What is loaded by now stays for good: it is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
