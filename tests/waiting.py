"""The one place where a test waits. A wait ends with what it waits for; LONG is for what never comes, and no test
measures the machine. `tests/ops/test_no_clock.py` refuses waiting that is not from here."""

from __future__ import annotations

import asyncio
import faulthandler
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import TypeVar

from playwright.sync_api import Page

Found = TypeVar("Found")

LONG = 180.0
"""Seconds. A machine that eight suites share needs a tenth of it."""
LONG_MS = LONG * 1000
_PAUSE, _LONGEST_PAUSE = 0.01, 0.1
"""Seconds between two looks. They grow by a tenth of the time waited, for each look takes processor time from whoever
brings about what is waited for."""


def until(
    check: Callable[[], Found], what: str | Callable[[], str] = "it", page: Page | None = None
) -> Found:
    """What `check` answers as soon as it is true. `what` is said where it never is: what was waited for, or, asked
    then, what was there instead. With `page` the events of the page go on meanwhile."""
    began = time.monotonic()
    while not (found := check()):
        pause = _pause_since(began, what)
        if page is None:
            time.sleep(pause)
        else:
            page.wait_for_timeout(pause * 1000)
    return found


async def eventually(
    check: Callable[[], Found | Awaitable[Found]], what: str | Callable[[], str] = "it"
) -> Found:
    """`until` for a test with a loop; `check` may be asynchronous."""
    began = time.monotonic()
    while True:
        found = check()
        true: Found = await found if isawaitable(found) else found  # type: ignore[assignment]
        if true:
            return true
        await asyncio.sleep(_pause_since(began, what))


async def let_others_run(turns: int = 100) -> None:
    """Everything that the loop could do without news from outside is done afterwards."""
    for _ in range(turns):
        await asyncio.sleep(0)


@contextmanager
def that_ends() -> Iterator[None]:
    """Around what would never end if it were wrong, and cannot be interrupted: the process says where it hangs."""
    faulthandler.dump_traceback_later(LONG, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def how_long(done: Callable[[], object]) -> float:
    """Seconds: to be compared with another such, taken under the same load, and never with a number."""
    began = time.monotonic()
    done()
    return time.monotonic() - began


def _pause_since(began: float, what: str | Callable[[], str]) -> float:
    """Seconds until the next look. Fails where it was waited for too long."""
    waited = time.monotonic() - began
    assert waited < LONG, f"not within {LONG:.0f} s: {what if isinstance(what, str) else what()}"
    return min(max(_PAUSE, waited / 10), _LONGEST_PAUSE)
