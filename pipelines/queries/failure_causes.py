"""Causes of failed runs, as their logs tell them: the first error and the lines around it, without what package
managers tell of themselves. Events of agents are read as the texts in them."""

from __future__ import annotations

import ipaddress
import json
import re
import signal
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from pipelines.models import Job, LogChunk, Purpose
from pipelines.queries import versions
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.sentences.names import station_name

LONGEST = 200
MOST_LINES = 5
CHUNKS = 24
"""Of a log, one for each half second in which it grew: so many are read, from its end."""
DEEPEST = 5
TRACEBACK = "Traceback (most recent call last):"
# Lines with which eslint begins before it says what went wrong
ESLINT = re.compile(r"\s*(?:(Oops! Something went wrong)|ESLint: \d|$)")
ERROR = re.compile(
    r"\s*(?:E {2,}\S|FAILED\b|ERROR\b|fatal: |panic: |npm ERR! |npm error |error(?:\[\w+\])?: |not ok \d|\[error\] "
    r"|[✖✗×] \S|.{0,200}?(?:\berror: |\berror TS\d|Error: |Error \[\w+\]: |\bERR_[A-Z]"
    r"|\bKilled$|[Oo]ut of memory)"
    # A place in a file, as linters and compilers begin: `a.py:1:8: F401 …`, `./a.go:3:2: undefined: b`, `3:5  error …`.
    r"|\S+\.\w+:\d+:\d+:? \S|\d+:\d+ +error )"
)
NOISE = re.compile(
    r"\s*(?:npm (?:notice|warn|WARN|http|info|verb|timing)\b|npm (?:error|ERR!)(?: A complete log of this run\b.*)?$"
    r"|npm (?:error|ERR!) {4,}\S*_logs\b|\S*_logs/\S+\.log$|Progress: resolved|WARN\s|Node\.js v\d"
    r"|\[gateline\] (?:Prepare|The log|Lines written over)|[|/\\-]$|[#=>. ]*\d{1,3} ?%)"
)
PACKAGES = re.compile(
    r"No module named|ModuleNotFoundError|[Cc]annot find (?:module|package)|ERR_MODULE_NOT_FOUND"
    r"|command not found|: not found$|not recognized as an internal"
)
"""Lines of a program that lacks what an environment would have installed."""
PREPARE_FAILED = "prepare_failed"
NOT_PREPARED = ("command_not_started", "no_fixer", PREPARE_FAILED)
"""Failure types that an environment might cure."""
NOT_LISTED = re.compile(r"(?:port (\d+) of )?host (\S+) is not in the Hosts of the environment")
PRIVATE = re.compile(r"host (\S+) has the private address (\S+?)\. ")
"""What the proxy of Prepare refused, as the summary says it (pipelines/work/worker/environment_preparation.py)."""
TEXTS = ("error", "output", "text", "result", "message", "content", "stderr")
"""Keys of an agent's event that hold texts for people."""
FAILED = ("failure", "cancelled")


@dataclass(frozen=True, slots=True)
class FailureCause:
    """`error`: a line of the log, or how a signal ended the run; "" where neither is known. `lines`: what stands around
    it, else the last ones. `station`: its name; `times`: how often it failed in this task. `type`: of its failure.
    `refused`: hosts that its preparation may not reach yet; `private`: listed ones, at private addresses."""

    job: int
    station: str
    error: str
    lines: tuple[str, ...]
    times: int = 1
    type: str = ""
    refused: tuple[str, ...] = ()
    private: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        wording = singular_or_plural("%(station)s failed", "%(station)s failed %(n)s times", self.times)
        if self.type == PREPARE_FAILED:
            wording = singular_or_plural(
                "Preparing for %(station)s failed", "Preparing for %(station)s failed %(n)s times", self.times
            )
        return wording % {"station": self.station, "n": self.times}

    @property
    def may_lack_packages(self) -> bool:
        """Return whether the environment of the repository might cure it."""
        return self.type in NOT_PREPARED or any(map(PACKAGES.search, (self.error, *self.lines)))


def has_failed_station_run(job: Job) -> bool:
    return job.purpose == Purpose.STATION and job.state == Job.State.DONE and job.result in FAILED


def failure_cause_by_run_id(jobs: Iterable[Job], among: Sequence[Job] = ()) -> dict[int, FailureCause]:
    """Return the causes of the runs that failed, by the id of the run; one statement. `among`: all runs of
    their task, to be counted."""
    runs = {job.pk: job for job in jobs if has_failed_station_run(job)}
    if not runs:
        return {}
    logs, times = (
        _last_log_lines_by_run(runs),
        Counter(job.station for job in among if has_failed_station_run(job)),
    )
    return {
        pk: _failure_cause(
            job,
            station_name(versions.parsed_line_by_version_id(job.pinned_id), job.station),
            logs.get(pk, []),
            times[job.station],
        )
        for pk, job in runs.items()
    }


def _failure_cause(job: Job, station: str, lines: Sequence[str], times: int) -> FailureCause:
    # A log that is noise and nothing else is shown as it is
    legible = [line for line in lines if not NOISE.match(line)] or list(lines)
    error, place = first_error_line_and_place(legible)
    # From the error on; the last ones where fewer lines follow it.
    around = legible[max(min(place, len(legible) - MOST_LINES), 0) :][:MOST_LINES]
    signalled = _signal_sentence_or_empty(job.exit_code)
    failure_type = str((job.outcome or {}).get("failure_type") or "")
    refusals = job.summary if failure_type == PREPARE_FAILED else ""
    return FailureCause(
        job.pk,
        station,
        signalled or _shortened_line(error),
        tuple(_shortened_line(line) for line in around if signalled or line.strip() != error),
        max(times, 1),
        failure_type,
        tuple(host + (f":{port}" if port else "") for port, host in NOT_LISTED.findall(refusals)),
        tuple(host for host, address in PRIVATE.findall(refusals) if _is_internal_address(address)),
    )


def _is_internal_address(address: str) -> bool:
    """Return whether an administrator may allow it by a tick: not this machine, nor a link."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return ip.is_private and not (ip.is_loopback or ip.is_link_local or ip.is_unspecified)


def _last_log_lines_by_run(runs: Iterable[int]) -> dict[int, list[str]]:
    """Return the end of the log of the last attempt of each, by one statement."""
    last = Window(RowNumber(), partition_by=F("job_id"), order_by=(F("attempt").desc(), F("number").desc()))
    rows = LogChunk.objects.filter(job__in=runs).annotate(rank=last).filter(rank__lte=CHUNKS)
    logs: dict[int, list[str]] = {}
    attempts: dict[int, int] = {}
    for chunk in rows.order_by("job_id", "rank"):
        # The first row is of the last attempt: earlier ones are left out.
        if attempts.setdefault(chunk.job_id, chunk.attempt) == chunk.attempt:
            logs[chunk.job_id] = [*_texts_of_log_lines(bytes(chunk.data)), *logs.get(chunk.job_id, [])]
    return logs


def cause_of_last_run_or_none(jobs: Iterable[Job]) -> FailureCause | None:
    """Return the cause of the run of a task that was done last, where it failed."""
    done = [job for job in jobs if job.purpose == Purpose.STATION and job.ended_at]
    last = max(done, key=lambda job: (job.ended_at, job.pk), default=None)
    return failure_cause_by_run_id([last], done).get(last.pk) if last else None


def error_line_by_run(jobs: Iterable[Job]) -> dict[int, str]:
    """The first error of each, else its last line, by the id of the run."""
    by_job = failure_cause_by_run_id(jobs).values()
    return {cause.job: cause.error or cause.lines[-1] for cause in by_job if cause.error or cause.lines}


def first_error_line_and_place(lines: Sequence[str]) -> tuple[str, int]:
    """Return the first line that names an error, of a traceback its last one, and its place; "" and the end where none
    does."""
    within, of_eslint = False, False
    for place, line in enumerate(lines):
        if TRACEBACK in line:
            within = True
        elif opening := ESLINT.match(line):
            of_eslint = of_eslint or bool(opening[1])
        elif of_eslint or (within and not line.startswith((" ", "\t"))) or (not within and ERROR.match(line)):
            return line.strip(), place
    return "", len(lines)


def _signal_sentence_or_empty(code: int | None) -> str:
    """A shell says 128 and the number of the signal, a program that was started without one the negative number."""
    number = 0 if code is None else -code if code < 0 else code - 128
    if number not in signal.valid_signals():
        return ""
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return f"It was killed ({name}), as happens where memory runs out."
    return f"A signal ended it: {name}."


def _shortened_line(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _texts_of_log_lines(data: bytes) -> Iterator[str]:
    """Lines are `seconds<TAB>text` (pipelines.work.logs)."""
    # Not splitlines, which breaks at signs that may stand within the text of a line
    for line in zlib.decompress(data).decode().split("\n"):
        text = line.partition("\t")[2].rstrip()
        if text:
            yield from _event_texts(text)


def _event_texts(line: str) -> Iterator[str]:
    """Yield the texts in an event of an agent, but not of what went well; any other line as it is."""
    try:
        event = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        yield line
    # What went well is no cause of a failure
    elif event.get("ok") is not True:
        for text in _nested_texts(event, DEEPEST):
            yield from filter(None, map(str.rstrip, text.splitlines()))


def _nested_texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth:
        for member in value:
            yield from _nested_texts(member, depth - 1)
    elif isinstance(value, dict) and depth:
        for key in TEXTS:
            yield from _nested_texts(value.get(key), depth - 1)
