"""Commands that looked at the work under review, and what came out: beside the diff, before anybody decides."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipelines.models import Job
from pipelines.queries.observed_facts import groups_of, tests_words
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.basics.plural import plural
from pipelines.routing.document.agents import PRESETS
from pipelines.routing.document.kinds.agent import KIND as AGENT
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.templatetags.cuts import shortened
from reviews.review.steps import PathStep

LONGEST = 160


@dataclass(frozen=True)
class CommandRun:
    """`facts`: what its reports count, in words, or else what it says itself. `stale`: the files changed after it."""

    station: str
    command: str
    job: Job
    facts: str
    stale: bool

    @property
    def words(self) -> str:
        return ". ".join(filter(None, (self.ended, self.facts)))

    @property
    def ended(self) -> str:
        code = self.job.exit_code
        if self.job.kind == AGENT.key and self.job.result == "success":
            # What it did it says itself
            return ""
        if self.job.result == "success":
            return f"Passed, exit code {0 if code is None else code}"
        if code is None:
            return f"Failed: {escape_hidden(shortened(self.job.summary, LONGEST)) or 'it did not run'}"
        return f"Failed, exit code {code}"

    @property
    def tone(self) -> str:
        if self.job.result != "success":
            return "danger"
        return "attention" if self.stale else "ok"

    @property
    def icon(self) -> str:
        return {"danger": "end-failed", "attention": "warning"}.get(self.tone, "end-completed")

    @property
    def seconds(self) -> float | None:
        job = self.job
        return (job.ended_at - job.started_at).total_seconds() if job.started_at and job.ended_at else None


def commands_run(line: ParsedLine, steps: Sequence[PathStep]) -> list[CommandRun]:
    """The last run of each station whose work is a command, or a program in an agent's place, in the order they
    ended."""
    return list(_runs(line, steps, _tree(step.job for step in steps)))


def _runs(line: ParsedLine, steps: Iterable[PathStep], now: str) -> Iterator[CommandRun]:
    for step in steps:
        station = line.stations_by_key.get(step.job.station)
        if station is None or not _is_program(step.job, station):
            continue
        argv = shlex.join(str(argument) for argument in station.work.get("argv") or ())
        tree = _tree([step.job])
        yield CommandRun(
            step.station,
            escape_hidden(shortened(argv, LONGEST)),
            step.job,
            _facts(step.job),
            # Where one of the trees is not known nobody can tell
            stale=bool(now and tree and tree != now),
        )


def _is_program(job: Job, station: Station) -> bool:
    if job.kind == COMMAND.key:
        return True
    preset = PRESETS.get(str(station.work.get("agent"))) if job.kind == AGENT.key else None
    return preset is not None and preset.fixed


def _facts(job: Job) -> str:
    groups = groups_of(job.outcome)
    parts = [tests_words(groups["tests"])] if "tests" in groups else []
    total = groups.get("findings", {}).get("total")
    if isinstance(total, int):
        parts.append(plural("%(n)s finding", "%(n)s findings", total) % {"n": total})
    if not parts and job.result == "success":
        return escape_hidden(shortened(job.summary, LONGEST))
    return ", ".join(parts)


def _tree(jobs: Iterable[Job]) -> str:
    """The one that the last of them left; "" where nobody looked."""
    trees = [str(groups_of(job.outcome).get("git", {}).get("tree") or "") for job in jobs]
    return next(filter(None, reversed(trees)), "")
