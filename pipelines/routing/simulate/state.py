"""State of a task of a scenario: its tokens, its counters and its data, as values that never change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.branch_joins.branches import Arrival, Fork, Write
from pipelines.routing.decide.branch_joins.join_decision import Merge
from pipelines.routing.decide.decisions import DecisionAnswer
from pipelines.routing.decide.effects import ENDS, counts_with_added, worst_position_status
from pipelines.routing.decide.station_facts import Visit, facts_by_station_with_last_tree
from pipelines.routing.decide.transitions import COUNTERS, StationEntry, TokenEnd, Transition
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.scenario import ScenarioScript

READY, REVIEW, BLOCKED, HELD = "queued", "awaiting_review", "blocked", "held"

Counts = Mapping[str, int]
Data = Mapping[str, Any]


class StepRefused(Exception):
    """This step cannot happen here; the message says why."""


@dataclass(frozen=True, slots=True)
class OpenReview:
    """The situation that waits for people, and the words said so far at the gates that were asked together."""

    situation: Data
    decision: DecisionAnswer
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SimulatedEscalation:
    """An open one. `number`: it is the nth of this walk; `token`: where it arose, 0 for one that a person made or that
    was convened; `role`: who answers it; `blocks`: all work waits until it is resolved."""

    number: int
    trigger: str
    role: str
    token: int = 0
    station: str = ""
    rule: str = ""
    blocks: bool = False

    def to_dict(self) -> dict[str, Any]:
        document = {"trigger": self.trigger, "role": self.role, "station": self.station, "rule": self.rule}
        return {key: value for key, value in document.items() if value}


@dataclass(frozen=True, slots=True)
class PassedVisit:
    """Observations of a visit that passed. `order`: how many decisions were made before it reported."""

    order: int
    visit: Visit


@dataclass(frozen=True, slots=True)
class SimulatedPosition:
    """Position of one token, which keeps its number from station to station. `status`: queued (its station is
    to report, or with an `arrival` its siblings at the join), awaiting_review, blocked, held, stuck, or
    the kind of its end. `feedback`: what the station gets with its prompt; `within`: the forks that it is
    a branch of; `wrote`: what was put into the context on its way; `past`: what was observed on its way, the
    oldest first."""

    station: str
    status: str = READY
    origin: str | None = None
    signal_reworks: int = 0
    feedback: str = ""
    wait: Data = field(default_factory=dict)
    error: str = ""
    end: str = ""
    asked: OpenReview | None = None
    within: tuple[Fork, ...] = ()
    arrival: Arrival | None = None
    wrote: tuple[Write, ...] = ()
    past: tuple[PassedVisit, ...] = ()
    token: int = 1

    @property
    def is_over(self) -> bool:
        return self.status in ENDS

    @property
    def is_active(self) -> bool:
        """Neither over nor waiting at a join: something may happen to it."""
        return not self.is_over and self.arrival is None

    @property
    def past_visits(self) -> list[Visit]:
        """Visits on its own way, the oldest first: of its token, of those that it was forked from, and of those that
        were joined into one of them, but not of its siblings (law §13)."""
        return [passed.visit for passed in self.past]

    @property
    def lacks_preconditions(self) -> bool:
        """Held because something is missing that going forward needs."""
        return self.status == HELD and bool(self.wait.get("missing"))

    @property
    def has_work_now_or_when_resumed(self) -> bool:
        """Its station is to report, if need be when what blocks the task is resolved."""
        return self.is_active and (self.status == READY or "paused_by" in self.wait)

    def moved_to_station(self, entry: StationEntry, **more: Any) -> SimulatedPosition:
        """Put the token at the station that it enters."""
        # These go with the token; everything else belonged to the visit that is over
        known = {name: getattr(self, name) for name in ("within", "wrote", "past", "token")}
        entered = {name: getattr(entry, name) for name in ("origin", "signal_reworks", "feedback", "arrival")}
        return SimulatedPosition(entry.station, **{**known, **entered, **more})

    def with_end(self, ended: TokenEnd) -> SimulatedPosition:
        gone: dict[str, Any] = {"wait": {}, "asked": None, "arrival": None}
        return replace(self, status=ended.kind, end=ended.end, error=ended.error, **gone)

    def to_dict(self) -> dict[str, Any]:
        document = {"station": self.station, "status": self.status, "end": self.end, "error": self.error}
        more = {"origin": self.origin, "feedback": self.feedback, "wait": dict(self.wait)}
        if self.arrival:
            more["joins"] = {"from": self.arrival.source, "standing": self.arrival.standing}
        return {key: value for key, value in {**document, **more}.items() if value}


@dataclass(frozen=True, slots=True)
class SimulatedTask:
    """A task. Several positions while it is forked, in the order of the branches. `last_words`: of each gate the last
    word and what it was said about. `clock`: how many decisions were made; `tokens` and `escalated`: how many there
    were so far; `forked`: the token of each fork. `spent`: dollars. `escalations`: the open ones, the oldest first.
    `task_end`: what ended all positions at once, an abort or a cancellation."""

    positions: tuple[SimulatedPosition, ...]
    visits: Counts
    edges: Counts = field(default_factory=dict)
    rules: Counts = field(default_factory=dict)
    rounds: Counts = field(default_factory=dict)
    failures: Counts = field(default_factory=dict)
    context: Data = field(default_factory=dict)
    unreadable: Data = field(default_factory=dict)
    variables: Data = field(default_factory=dict)
    inputs: Data = field(default_factory=dict)
    task: Data = field(default_factory=dict)
    last_words: Mapping[str, tuple[str, Data]] = field(default_factory=dict)
    escalations: tuple[SimulatedEscalation, ...] = ()
    clock: int = 0
    tokens: int = 1
    escalated: int = 0
    forked: Mapping[int, int] = field(default_factory=dict)
    spent: Any = 0
    task_end: TokenEnd | None = None

    @property
    def status(self) -> str:
        if self.task_end is not None:
            return self.task_end.kind
        return worst_position_status(position.status for position in self.positions)

    @property
    def is_over(self) -> bool:
        return all(position.is_over for position in self.positions)

    @property
    def end(self) -> str:
        """The key of the task's end: of several branches the worst; "" while it goes on."""
        if not self.is_over:
            return ""
        if self.task_end is not None:
            return self.task_end.end
        return next(position.end for position in self.positions if position.status == self.status)

    @property
    def first_active_index(self) -> int:
        """The first token that has not ended and waits for no sibling. Raises StopIteration."""
        return next(i for i, position in enumerate(self.positions) if position.is_active)

    def with_position(self, index: int, position: SimulatedPosition) -> SimulatedTask:
        return replace(self, positions=(*self.positions[:index], position, *self.positions[index + 1 :]))

    def with_changes(self, change: Transition) -> SimulatedTask:
        """Add what the transition counts and stores."""
        added: dict[str, Any] = {
            name: counts_with_added(getattr(self, name), more) for name, more in change.count.items()
        }
        added |= {name: {**getattr(self, name), **more} for name, more in change.stored.items()}
        return replace(self, **added)

    def with_end(self, ended: TokenEnd, index: int = -1) -> SimulatedTask:
        """End the token at `index`, or all of them. Terminal is final: nothing is open any more."""
        positions = tuple(
            position.with_end(ended)
            if i == index or (ended.everything and not position.is_over)
            else position
            for i, position in enumerate(self.positions)
        )
        # What ends the whole task is its end, also behind a branch that ended worse (law §7)
        after = replace(self, positions=positions, task_end=ended if ended.everything else self.task_end)
        return replace(after, escalations=()) if after.is_over else after

    def index_of_unended_token_or_none(self, token: int) -> int | None:
        """Return the index of a token among the positions; None where it has ended or become part of another."""
        indices = (
            i for i, position in enumerate(self.positions) if position.token == token and not position.is_over
        )
        return next(indices, None)

    def index_held_by_or_none(self, escalation: SimulatedEscalation) -> int | None:
        """Return the index of the position that this escalation holds, or None where it holds none and only
        prevents forward moves."""
        index = self.index_of_unended_token_or_none(escalation.token)
        waits = index is not None and self.positions[index].wait.get("escalation") == escalation.number
        return index if waits else None

    def other_stations(self, index: int) -> list[str]:
        """The stations in which other tokens stand."""
        return [
            position.station for i, position in enumerate(self.positions) if i != index and position.is_active
        ]

    def current_facts(self, line: ParsedLine, index: int) -> dict[str, Any]:
        """Return the current facts of the task, without those that the token itself carries."""
        return {
            **self.copy_of_counters(),
            "open_escalations": len(self.escalations),
            **({"beside": self.other_stations(index)} if line.forbidden_parallel else {}),
            "context": dict(self.context),
            "variables": dict(self.variables),
            **({"unreadable": dict(self.unreadable)} if self.unreadable else {}),
            **({"words": self.words_by_gate()} if line.reads_gate_words and self.last_words else {}),
            "inputs": dict(self.inputs),
            "task": dict(self.task),
        }

    def build_situation(self, line: ParsedLine, index: int, outcome: Data) -> dict[str, Any]:
        """Return the situation of a fresh outcome."""
        position = self.positions[index]
        own: dict[str, Any] = {"signal_reworks": position.signal_reworks, "origin": position.origin}
        # `spent` and `observed` are recorded only of lines that read them.
        if line.limits.cost_usd is not None and self.spent:
            own["spent"] = self.spent
        if line.reads_stations and (
            observed := facts_by_station_with_last_tree(outcome.get("facts") or {}, position.past_visits)
        ):
            own["observed"] = observed
        return {
            "station": position.station,
            "outcome": dict(outcome),
            "facts": {**self.current_facts(line, index), **own},
        }

    def words_by_gate(self) -> dict[str, str]:
        """The last word at each gate."""
        return {gate: word for gate, (word, _about) in self.last_words.items()}

    def copy_of_counters(self) -> dict[str, Any]:
        # Copies: a situation is stored as it was, and the walk goes on
        return {name: dict(getattr(self, name)) for name in COUNTERS}


@dataclass(frozen=True, slots=True)
class DecidedJoin:
    """A join that was decided after a step. `decision`: about its outcome, where that was no pass."""

    station: str
    merge: Merge
    contradictions: tuple[str, ...] = ()
    decision: DecisionAnswer | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "station": self.station,
            **self.merge.to_dict(),
            "contradictions": list(self.contradictions),
            "decision": self.decision.to_dict() if self.decision else None,
        }


@dataclass(frozen=True, slots=True)
class StepRecord:
    """Result of a step. `walk`: after it; `decision`: None where a word did not yet settle what was asked; `entered`:
    stations, in order; `rules`: taken; `joined`: the joins that were decided by it; `also`: with its station, each
    decision about a token that had only waited for this. `number`: in its walk, from 1; 0 is the start."""

    walk: SimulatedTask
    station: str
    decision: DecisionAnswer | None = None
    entered: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    joined: tuple[DecidedJoin, ...] = ()
    also: tuple[tuple[str, DecisionAnswer], ...] = ()
    number: int = 0

    def with_consequence(self, more: StepRecord) -> StepRecord:
        """Add what was decided in consequence about another token."""
        decided = ((more.station, more.decision),) if more.decision else ()
        return replace(
            self,
            walk=more.walk,
            entered=(*self.entered, *more.entered),
            rules=(*self.rules, *more.rules),
            joined=(*self.joined, *more.joined),
            also=(*self.also, *decided, *more.also),
        )

    @property
    def decisions(self) -> list[tuple[str, DecisionAnswer]]:
        """Decisions, each with its station: the step's own, those about tokens that waited for it, then those
        about the outcomes of joins."""
        own = [(self.station, self.decision)] if self.decision else []
        return [*own, *self.also] + [(join.station, join.decision) for join in self.joined if join.decision]

    def to_dict(self) -> dict[str, Any]:
        return {
            "step": self.number,
            "station": self.station,
            "decision": self.decision.to_dict() if self.decision else None,
            "rules": list(self.rules),
            **({"joined": [join.to_dict() for join in self.joined]} if self.joined else {}),
            **(
                {"also": [{"station": at, "decision": decision.to_dict()} for at, decision in self.also]}
                if self.also
                else {}
            ),
            "status": self.walk.status,
            "positions": [position.to_dict() for position in self.walk.positions],
            **(
                {"escalations": [escalation.to_dict() for escalation in self.walk.escalations]}
                if self.walk.escalations
                else {}
            ),
            **self.walk.copy_of_counters(),
            "context": dict(self.walk.context),
            "variables": dict(self.walk.variables),
        }


def start_task(line: ParsedLine, scenario: ScenarioScript) -> SimulatedTask:
    """A task at the start. Inputs that the line does not have are refused (Malformed); defaults are filled in."""
    inputs = {line_input.key: line_input.default for line_input in line.inputs if line_input.has_default}
    known = {line_input.key for line_input in line.inputs}
    for key in scenario.inputs:
        if key not in known:
            raise Malformed(f"inputs.{key}", "is not an input of this line")
    return SimulatedTask(
        positions=(SimulatedPosition(line.start),),
        visits={line.start: 1},
        inputs={**inputs, **scenario.inputs},
        task=scenario.task,
    )
