"""Lines for a job's log from a thread: they are sent at once, and waited for before the log ends."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from pipelines.work.spec.handler_io import Sink


class Notes:
    def __init__(self, sink: Sink) -> None:
        self._sink, self._loop = sink, asyncio.get_running_loop()
        self._sent: list[Future[None]] = []

    def __call__(self, text: str) -> None:
        """Send a line to the log, from the thread."""
        line = self._sink.note(f"[gateline] {text}")
        self._sent.append(asyncio.run_coroutine_threadsafe(_await_line(line), self._loop))

    async def wait_until_written(self) -> None:
        """Wait in the loop until all lines are written."""
        sent, self._sent = self._sent, []
        for future in sent:
            await asyncio.wrap_future(future)


async def _await_line(line: object) -> None:
    await line  # type: ignore[misc]
