"""Runs whose environment is still being prepared (docs/repositories.md): the work of their station has not begun. Read
from their logs, in which the worker says so; a program speaks there only once it is over."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import F

from pipelines.models import Job, LogChunk, Purpose
from pipelines.routing.document.kinds import kind_executes
from pipelines.routing.document.line import ParsedLine

OURS = "[gateline] "
BEGAN = ("[gateline] Prepare: ", "[gateline] Another station prepares the same.")
OVER = ("[gateline] Prepared", "[gateline] Prepare failed")
LONGEST = timedelta(minutes=35)
"""The command is ended after half an hour."""
SOON = timedelta(seconds=20)
"""Within which a run that will prepare has said so."""
FIRST_CHUNKS, MOST_CHUNKS = 8, 400
LINES = 12
AT_ONCE = timedelta(seconds=3)
"""Within which a run that prepares nothing has begun: before, nothing is said of it."""


@dataclass(slots=True)
class PreparationProgress:
    """Preparation of an environment during a run. `since` is None where a run has just started, and may yet
    prepare: `starting` once that takes a while. `lines`: the last of its log."""

    job: Job
    since: datetime | None = None
    over: bool = False
    starting: bool = False
    chunks: int = 0
    lines: list[str] = field(default_factory=list)

    def read_log_chunk(self, chunk: LogChunk) -> None:
        assert self.job.started_at is not None
        self.chunks += 1
        # A chunk has whole lines: behind its last line break there is nothing.
        for line in zlib.decompress(bytes(chunk.data)).decode().split("\n")[:-1]:
            seconds, _tab, text = line.partition("\t")
            self.over = self.over or text.startswith(OVER)
            if self.since is None and text.startswith(BEGAN):
                self.since = self.job.started_at + timedelta(seconds=float(seconds))
            self.lines = [*self.lines[1 - LINES :], text]

    def is_running(self, now: datetime) -> bool:
        assert self.job.started_at is not None
        if self.since is None:
            # A program speaks once the environment is there
            is_silent = all(text.startswith(OURS) for text in self.lines)
            self.starting = is_silent and now - self.job.started_at > AT_ONCE
            return not self.over and self.chunks < FIRST_CHUNKS and now - self.job.started_at < SOON
        return not self.over and self.chunks < MOST_CHUNKS


def preparation_progress_by_job(
    line: ParsedLine, jobs: Iterable[Job], now: datetime
) -> dict[int, PreparationProgress]:
    """Return by job id the progress of the environments that are being prepared in the runs of one task; at
    most two statements."""
    preparations = {
        job.pk: PreparationProgress(job) for job in jobs if line.workspace and _may_be_preparing(job, now)
    }
    if not preparations:
        return {}
    # Nearly all logs say it at their beginning: only of the others more is read
    _read_progress(preparations, range(FIRST_CHUNKS))
    _read_progress(
        {
            pk: preparation
            for pk, preparation in preparations.items()
            if preparation.since and not preparation.over
        },
        range(FIRST_CHUNKS, MOST_CHUNKS),
    )
    return {pk: preparation for pk, preparation in preparations.items() if preparation.is_running(now)}


def _may_be_preparing(job: Job, now: datetime) -> bool:
    runs = job.state == Job.State.RUNNING and job.purpose == Purpose.STATION and kind_executes(job.kind)
    return runs and job.started_at is not None and now - job.started_at < LONGEST


def _read_progress(preparations: dict[int, PreparationProgress], numbers: Sequence[int]) -> None:
    if not preparations:
        return
    chunks = LogChunk.objects.filter(
        job__in=preparations, attempt=F("job__attempt"), number__range=(numbers[0], numbers[-1])
    )
    for chunk in chunks.order_by("job_id", "number").iterator(chunk_size=16):
        if not preparations[chunk.job_id].over:
            preparations[chunk.job_id].read_log_chunk(chunk)
