"""Time limits for work that calls a server: how long it may take, and how long it may be silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pipelines.work.spec.handler_io import Outcome, ProcessLimits, Sink

DataCallback = Callable[[], None]


class TimeIsUp(Exception):
    """`reason` as a cancellation has it (law §2)."""

    def __init__(self, reason: str, seconds: float) -> None:
        self.reason, self.seconds = reason, seconds
        super().__init__(f"{reason} after {seconds:g} s")


@asynccontextmanager
async def limiting_time(limits: ProcessLimits) -> AsyncIterator[DataCallback]:
    """Yields a function to call whenever data arrives.
    :raises TimeIsUp: from the block"""
    loop = asyncio.get_running_loop()
    total, idle = asyncio.timeout(limits.total or None), asyncio.timeout(limits.idle or None)

    def extend_idle() -> None:
        # One that has expired cannot be set anew.
        if limits.idle and not idle.expired():
            idle.reschedule(loop.time() + limits.idle)

    try:
        async with total, idle:
            yield extend_idle
    except TimeoutError:
        if total.expired():
            raise TimeIsUp("max_timeout", limits.total or 0) from None
        if idle.expired():
            raise TimeIsUp("idle_timeout", limits.idle or 0) from None
        # A time-out of the work itself
        raise


async def cancelled_outcome(late: TimeIsUp, sink: Sink) -> Outcome:
    await sink.note(f"[gateline] Stopped: {late}.")
    return {"result": "cancelled", "reason": late.reason}
