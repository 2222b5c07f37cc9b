"""The log of one attempt while it runs: collects lines, hands them on in chunks, bounded in size and in memory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from pipelines.work.results.lines import LineCutter
from pipelines.work.results.text import Masker, escaped_for_storage, time_stamped_line

CHUNK_SECONDS = 0.5
CHUNK_BYTES = 64 * 1024
# Work that writes faster than the database accepts has to wait.
BEHIND_BYTES = 1024 * 1024
LOG_BYTES = 10 * 1024 * 1024


class JobLog:
    """A `Sink` that stores whole lines by `store(text)`, one call at a time. `find_secrets`: returns secrets
    that become known only while the work runs; it is called before anything is stored."""

    def __init__(
        self,
        store: Callable[[str], Awaitable[None]],
        secrets: Iterable[str] = (),
        limit: int = LOG_BYTES,
        clock: Callable[[], float] = time.monotonic,
        find_secrets: Callable[[], Iterable[str]] | None = None,
    ) -> None:
        secrets = tuple(secrets)
        self._found, self._more = find_secrets, Masker()
        self._learned = frozenset(secrets)
        self._store, self._limit, self._clock = store, limit, clock
        self._streams = {name: LineCutter(Masker(secrets)) for name in ("out", "err")}
        self._began = clock()
        self._waiting: deque[str] = deque()
        self._size = 0
        self._written = 0
        self._dropped = 0
        self._filled, self._full = asyncio.Event(), asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False
        self._flusher = asyncio.create_task(self._flush_in_time())

    async def write(self, stream: str, data: bytes) -> None:
        self._mask_newly_found_secrets()
        self._queue_lines_to_store(self._streams[stream].feed_and_return_whole_lines(data))
        if not self._room.is_set():
            await self._room.wait()
        if self._flusher.done():
            self._flusher.result()  # what kept it from storing

    async def note(self, text: str) -> None:
        self._queue_lines_to_store([escaped_for_storage(line) for line in text.splitlines()], always=True)

    async def end(self) -> None:
        """Store what is left. Call once, when nothing writes any more."""
        for lines in self._streams.values():
            self._queue_lines_to_store(lines.feed_and_return_whole_lines(b"", final=True))
        overwritten = sum(lines.overwritten for lines in self._streams.values())
        if overwritten:
            words = f"[gateline] Lines written over, and shown as they were in the end: {overwritten}"
            self._queue_lines_to_store([words], always=True)
        if self._dropped:
            self._queue_lines_to_store(
                [f"[gateline] The log was cut here: {self._dropped} more characters."], always=True
            )
        self._ended = True
        self._filled.set()
        # Wakes the flusher at once, instead of after CHUNK_SECONDS.
        self._full.set()
        await self._flusher

    async def abandon(self) -> None:
        """Stop without storing what is left: the attempt is no longer ours."""
        self._flusher.cancel()
        await asyncio.gather(self._flusher, return_exceptions=True)

    def _mask_newly_found_secrets(self) -> None:
        new = () if self._found is None else frozenset(self._found()) - self._learned
        if new:
            self._learned |= new
            for masker in (self._more, *(stream.masker for stream in self._streams.values())):
                masker.mask_also(new)

    def _queue_lines_to_store(self, lines: list[str], *, always: bool = False) -> None:
        now = self._clock() - self._began
        for line in lines:
            # What Gateline notes stands in the log though it is full.
            if self._written >= self._limit and not always:
                self._dropped += len(line) + 1
                continue
            text = time_stamped_line(now, line)
            self._waiting.append(text)
            self._size += len(text)
            self._written += len(text)
        if self._waiting:
            self._filled.set()
        if self._size >= CHUNK_BYTES:
            self._full.set()
        if self._size > BEHIND_BYTES:
            self._room.clear()

    async def _flush_in_time(self) -> None:
        """Flush one chunk per half second, or as soon as it is full."""
        try:
            while self._waiting or not self._ended:
                await self._filled.wait()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._full.wait(), CHUNK_SECONDS)
                await self._flush()
        finally:
            # Whoever waits for room goes on, and meets the error.
            self._room.set()

    def _line_with_late_secrets_hidden(self, line: str) -> str:
        """Hide in a line secrets that became known after it was written. Only behind the time, which a secret
        of digits may not touch."""
        at, tab, message = line.partition("\t")
        return f"{at}{tab}{self._more.masked_text(message)}"

    async def _flush(self) -> None:
        lines, size = [], 0
        while self._waiting and size < CHUNK_BYTES:
            lines.append(self._waiting.popleft())
            size += len(lines[-1])
        if lines:
            # Secrets that became known since the lines were cut
            self._mask_newly_found_secrets()
            await self._store("".join(map(self._line_with_late_secrets_hidden, lines)))
        # Only now: what is being stored still takes memory.
        self._size -= size
        if self._ended:
            return
        if self._size < CHUNK_BYTES:
            self._full.clear()
        if not self._waiting:
            self._filled.clear()
        if self._size <= BEHIND_BYTES:
            self._room.set()


class SilentSink:
    """A sink for work that writes nothing."""

    async def write(self, stream: str, data: bytes) -> None:
        raise AssertionError("this kind of work has no log: its Kind says neither calls nor executes")

    async def note(self, text: str) -> None:
        raise AssertionError("this kind of work has no log: its Kind says neither calls nor executes")
