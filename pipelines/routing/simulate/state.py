"""Where a task of a scenario stands: its tokens, its counters and its data, as values that never change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.routing.decisions import Decision
from pipelines.routing.model import Line
from pipelines.routing.problems import Malformed
from pipelines.routing.simulate.scenario import Scenario
from pipelines.routing.statuses import ENDS, status_of

COUNTERS = ("visits", "edges", "rules", "rounds", "failures")
READY, REVIEW, BLOCKED, HELD = "queued", "awaiting_review", "blocked", "held"

Counts = Mapping[str, int]
Data = Mapping[str, Any]


class StepRefused(Exception):
    """This step cannot happen here; the message says why."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The situation that waits for people, and the words said so far at the gates that were asked together."""

    situation: Data
    decision: Decision
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Position:
    """Of one token. `status`: queued (its station is to report), awaiting_review, blocked, held, stuck, or the kind
    of its end. `feedback`: what the station gets with its prompt."""

    station: str
    status: str = READY
    origin: str | None = None
    signal_reworks: int = 0
    feedback: str = ""
    wait: Data = field(default_factory=dict)
    error: str = ""
    end: str = ""
    asked: Asked | None = None

    @property
    def over(self) -> bool:
        return self.status in ENDS

    def to_dict(self) -> dict[str, Any]:
        said = {"station": self.station, "status": self.status, "end": self.end, "error": self.error}
        more = {"origin": self.origin, "feedback": self.feedback, "wait": dict(self.wait)}
        return {key: value for key, value in {**said, **more}.items() if value}


@dataclass(frozen=True, slots=True)
class Walk:
    """A task. Several positions while it is forked, in the order of the branches. `rejected`: of each gate the last
    word and what it was said about."""

    positions: tuple[Position, ...]
    visits: Counts
    edges: Counts = field(default_factory=dict)
    rules: Counts = field(default_factory=dict)
    rounds: Counts = field(default_factory=dict)
    failures: Counts = field(default_factory=dict)
    context: Data = field(default_factory=dict)
    variables: Data = field(default_factory=dict)
    inputs: Data = field(default_factory=dict)
    task: Data = field(default_factory=dict)
    last_words: Mapping[str, tuple[str, Data]] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return status_of(each.status for each in self.positions)

    @property
    def over(self) -> bool:
        return all(each.over for each in self.positions)

    @property
    def end(self) -> str:
        """The key of the task's end: of several branches the worst; "" while it goes on."""
        if not self.over:
            return ""
        return next(each.end for each in self.positions if each.status == self.status)

    @property
    def present(self) -> int:
        """The first token that has not ended. Raises StopIteration."""
        return next(i for i, each in enumerate(self.positions) if not each.over)

    def counts(self) -> dict[str, Any]:
        return {name: dict(getattr(self, name)) for name in COUNTERS}


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step did. `decision` is None where a word did not yet settle what was asked. `entered`: stations, in
    order; `rules`: taken."""

    walk: Walk
    station: str
    decision: Decision | None = None
    entered: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


def begin(line: Line, scenario: Scenario) -> Walk:
    """A task at the start. Inputs that the line does not have are refused (Malformed); defaults are filled in."""
    inputs = {each.key: each.default for each in line.inputs if each.has_default}
    known = {each.key for each in line.inputs}
    for key in scenario.inputs:
        if key not in known:
            raise Malformed(f"inputs.{key}", "is not an input of this line")
    return Walk(
        positions=(Position(line.start),),
        visits={line.start: 1},
        inputs={**inputs, **scenario.inputs},
        task=scenario.task,
    )
