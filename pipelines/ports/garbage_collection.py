"""Garbage of a process: nearly all that one of ours loads stays to its end."""

from __future__ import annotations

import atexit
import gc


def collect_seldom_while_loading() -> None:
    """Look for garbage seldom while a process loads, and not at all as it ends: both take a third of the time that a
    short command takes."""
    gc.set_threshold(20_000, 20, 50)
    atexit.register(gc.freeze)


def exempt_loaded_objects() -> None:
    """Leave what is loaded alone from now on, in a process that serves for long."""
    gc.collect()
    gc.freeze()
