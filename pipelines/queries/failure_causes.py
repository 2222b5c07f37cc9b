"""Causes of failed runs, as their logs tell them: the first error and the last lines."""

from __future__ import annotations

import re
import signal
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipelines.models import Job, LogChunk, Purpose
from pipelines.queries import versions
from pipelines.routing.basics.plural import plural
from pipelines.routing.sentences.names import station_name

LONGEST = 200
LAST = 5
TRACEBACK = "Traceback (most recent call last):"
ERROR = re.compile(
    r"\s*(?:E {2,}\S|FAILED\b|ERROR\b|fatal: |panic: |npm ERR! |error(?:\[\w+\])?: "
    r"|.{0,200}?(?:\berror: |\berror TS\d|Error: |\bKilled$|[Oo]ut of memory))"
)
FAILED = ("failure", "cancelled")


@dataclass(frozen=True, slots=True)
class FailureCause:
    """`error`: a line of the log, or how a signal ended the run; "" where neither is known. `lines`: the last ones.
    `station`: its name; `times`: how often it failed in this task."""

    job: int
    station: str
    error: str
    lines: tuple[str, ...]
    times: int = 1

    @property
    def title(self) -> str:
        said = plural("%(station)s failed", "%(station)s failed %(n)s times", self.times)
        return said % {"station": self.station, "n": self.times}


def has_failed(job: Job) -> bool:
    return job.purpose == Purpose.STATION and job.state == Job.State.DONE and job.result in FAILED


def causes(jobs: Iterable[Job], among: Sequence[Job] = ()) -> dict[int, FailureCause]:
    """By the id of the run, of those that failed; one statement. `among`: all runs of their task, to be counted."""
    runs = {job.pk: job for job in jobs if has_failed(job)}
    if not runs:
        return {}
    chunks = (
        LogChunk.objects.filter(job__in=runs).order_by("job_id", "-attempt", "-number").distinct("job_id")
    )
    logs = {chunk.job_id: list(_lines(bytes(chunk.data))) for chunk in chunks}
    times = Counter(job.station for job in among if has_failed(job))
    return {
        pk: FailureCause(
            pk,
            station_name(versions.by_id(job.pinned_id), job.station),
            (_signal(job.exit_code) or first_error(logs.get(pk, [])))[:LONGEST],
            tuple(logs.get(pk, [])[-LAST:]),
            max(times[job.station], 1),
        )
        for pk, job in runs.items()
    }


def last_cause(jobs: Iterable[Job]) -> FailureCause | None:
    """Of the run of a task that was done last, where it failed."""
    done = [job for job in jobs if job.purpose == Purpose.STATION and job.ended_at]
    last = max(done, key=lambda job: (job.ended_at, job.pk), default=None)
    return causes([last], done).get(last.pk) if last else None


def errors(jobs: Iterable[Job]) -> dict[int, str]:
    """The first error of each, else its last line, by the id of the run."""
    found = causes(jobs).values()
    return {cause.job: cause.error or cause.lines[-1] for cause in found if cause.error or cause.lines}


def first_error(lines: Sequence[str]) -> str:
    """The first line that names an error: of a traceback its last one."""
    within = False
    for line in lines:
        if TRACEBACK in line:
            within = True
        elif (within and not line.startswith((" ", "\t"))) or (not within and ERROR.match(line)):
            return line.strip()
    return ""


def _signal(code: int | None) -> str:
    """A shell says 128 and the number of the signal, a program that was started without one the negative number."""
    number = 0 if code is None else -code if code < 0 else code - 128
    if number not in signal.valid_signals():
        return ""
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return f"It was killed ({name}), as happens where memory runs out."
    return f"A signal ended it: {name}."


def _lines(data: bytes) -> Iterator[str]:
    """Lines are `seconds<TAB>text` (pipelines.work.logs)."""
    for line in zlib.decompress(data).decode().split("\n"):
        text = line.partition("\t")[2].rstrip()
        if text:
            yield text[:LONGEST]
