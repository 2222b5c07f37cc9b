"""Logs of jobs: compressed chunks of whole, time-stamped lines, written while the work runs."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pipelines.models import Job, LogChunk


@dataclass(frozen=True)
class LogLine:
    """`number` counts from 1 within the attempt; `seconds` since the attempt began."""

    number: int
    seconds: float
    text: str


@dataclass(frozen=True)
class LogPart:
    """Lines of one attempt. `next` is the position to ask for next time; `complete`: nothing more will come."""

    lines: tuple[LogLine, ...]
    next: int
    complete: bool


@dataclass
class Writer:
    """Appends to the log of one attempt. An attempt that was held or given back and then continues has another
    writer, which appends to what is there."""

    job_id: int
    attempt: int
    number: int = 0
    position: int = 0
    lines: int = 0

    def append_chunk(self, text: str, at: datetime) -> None:
        """Store one chunk: `text` is whole lines, each `seconds<TAB>text`."""
        while not self._store_if_next(text, at):
            self._skip_to_end_of_log()
        self.number += 1
        self.position += len(text.encode())
        self.lines += text.count("\n")

    def _store_if_next(self, text: str, at: datetime) -> bool:
        """False where another run of the attempt wrote a chunk of this number."""
        chunk = LogChunk(
            job_id=self.job_id,
            attempt=self.attempt,
            number=self.number,
            position=self.position,
            lines_before=self.lines,
            data=zlib.compress(text.encode(), 6),
            at=at,
        )
        # Django does not tell whether an ignored conflict kept the row out: it is read again
        return bool(LogChunk.objects.bulk_create([chunk], ignore_conflicts=True)) and self._is_own_chunk(
            chunk
        )

    def _is_own_chunk(self, chunk: LogChunk) -> bool:
        stored_chunk = LogChunk.objects.filter(
            job=self.job_id, attempt=self.attempt, number=self.number
        ).get()
        return bytes(stored_chunk.data) == chunk.data and stored_chunk.at == chunk.at

    def _skip_to_end_of_log(self) -> None:
        last = LogChunk.objects.filter(job=self.job_id, attempt=self.attempt).latest("number")
        text = zlib.decompress(last.data)
        self.number, self.position = last.number + 1, last.position + len(text)
        self.lines = last.lines_before + text.count(b"\n")


def read_log_part(job: Job, attempt: int, position: int = 0, most: int = 64) -> LogPart:
    """The lines from byte `position` on, of `most` chunks at most. A position inside a chunk gives the whole chunk."""
    chunks = _attempt_chunks(job, attempt).filter(position__gte=position).order_by("number")[:most]
    lines: list[LogLine] = []
    following = position
    count = 0
    for chunk in chunks:
        text = _chunk_text(chunk)
        lines += _numbered_lines(chunk, text)
        following = chunk.position + len(text.encode())
        count += 1
    ended = job.state == Job.State.DONE or job.attempt > attempt
    # As many as asked for: there may be more
    return LogPart(tuple(lines), following, ended and count < most)


def read_log_tail(job: Job, attempt: int, lines: int = 50) -> LogPart:
    """The last `lines` lines."""
    log_lines: list[LogLine] = []
    following = 0
    # Few at a time: the last chunks mostly have lines enough
    for chunk in _attempt_chunks(job, attempt).order_by("-number").iterator(chunk_size=4):
        text = _chunk_text(chunk)
        # Newest first: where the first one read ends, the next reading begins
        following = following or chunk.position + len(text.encode())
        log_lines = [*_numbered_lines(chunk, text), *log_lines]
        if len(log_lines) >= lines:
            break
    ended = job.state == Job.State.DONE or job.attempt > attempt
    return LogPart(tuple(log_lines[-lines:]), following, ended)


def read_log_text(job: Job, attempt: int) -> Iterator[str]:
    """The text of an attempt, chunk by chunk, for a download: without the time stamps."""
    for chunk in _attempt_chunks(job, attempt).order_by("number").iterator(chunk_size=16):
        yield "".join(f"{line.text}\n" for line in _numbered_lines(chunk, _chunk_text(chunk)))


def _attempt_chunks(job: Job, attempt: int):  # type: ignore[no-untyped-def]  # a queryset
    return LogChunk.objects.filter(job=job, attempt=attempt)


def _chunk_text(chunk: LogChunk) -> str:
    return zlib.decompress(bytes(chunk.data)).decode()


def _numbered_lines(chunk: LogChunk, text: str) -> list[LogLine]:
    log_lines = []
    # Every chunk ends with a line end, after which split has one empty text more
    for number, line in enumerate(text.split("\n")[:-1], start=chunk.lines_before + 1):
        seconds, _, rest = line.partition("\t")
        log_lines.append(LogLine(number, float(seconds), rest))
    return log_lines
