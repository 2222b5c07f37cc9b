"""A line as values: what `decide` reads, and what a LineVersion freezes (line-document.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pipelines.routing.basics.problems import Problem
from pipelines.routing.document import writing
from pipelines.routing.document.algebra import Condition
from pipelines.routing.document.budgets import Budget, standard
from pipelines.routing.document.checks import Group
from pipelines.routing.document.escalations import EscalationRule, rule_for
from pipelines.routing.document.gate_tools import Tool
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.paths import Path
from pipelines.routing.document.policy import Policy

LAW = 1
"""The number of the law that this product knows (`gateline: 1`)."""
REVISION = 2
"""Of that law: which reading of its sentences `decide` follows (law §12). Decisions are kept with theirs."""

BUILT_IN_ENDS = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
ORIGIN = "@origin"
BLOCKED = "@blocked"
JUMP = "@jump"
"""The key of the review of a jump (`already_complete`), among gates and among the facts `gates` and `rounds`."""
WORDS = ("approve", "send_back", "reject", "rework", "abort")
OFFERS = ("approve", "send_back", "reject")
FLUX_OFFERS = ("approve", "rework", "abort")
MAX_ROUNDS = 3
GATE_PASSED, HANDOFF, AGENT = "station_gate", "handoff", "agent"
METADATA = "metadata:"
STANDARD_REQUIREMENTS = (GATE_PASSED, HANDOFF, AGENT)
"""What `policy: {preconditions: yes}` asks of every station that says nothing else (AEEF E14). A requirement may also
be `metadata:<name>`. That no escalation is open is asked always."""
SIGNAL_RETRIES = 3
RESOURCES = ("cpu_seconds", "memory_mb", "processes", "disk_mb")
"""What the programs of a station may use together; whole numbers from 1 on."""


@dataclass(frozen=True)
class Limits:
    """Durations in seconds. None where the document says nothing."""

    idle_timeout: float | None = None
    max_timeout: float | None = None
    expected: float | None = None
    max_visits: int | None = None
    max_retries: int | None = None


@dataclass(frozen=True)
class Join:
    wait_for: tuple[str, ...]
    aggregation: str = "all-pass"


@dataclass(frozen=True)
class Compose:
    """Stores what `path` finds (the whole output if there is none) in the variable `var`, merged by `strategy`."""

    var: str
    path: Path | None = None
    strategy: str | None = None


@dataclass(frozen=True)
class Rule:
    """One ordered transition. `to` has one key, or several for a fork; `@origin` and `@blocked` stand alone.

    A rule whose `when`, `to` or `gates` is faulty has `fault`, and `source` holds these three as written.
    `on_exhausted` is fail, stuck, escalate, or None; `exhausted_to` is the key of `{to: key}`.
    """

    id: str
    when: Condition
    to: tuple[str, ...]
    label: str = ""
    gates: tuple[str, ...] = ()
    max_retries: int | None = None
    max_visits: int | None = None
    allow_revisit: bool | None = None
    on_exhausted: str | None = None
    exhausted_to: str | None = None
    feedback: bool = False
    compose: tuple[Compose, ...] = ()
    fault: Problem | None = None
    source: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Station:
    """`work` as the document says it, `kind` among its keys; `key` is unique among stations and ends.

    `stage`: the station whose rework this one is, "" for a stage of its own. `agent`: the key of the agent that works
    here. `requires`: what a forward move out of it needs, None where the policy decides; `handoff`: the JSON Schema of
    what it hands over, None where the line's holds."""

    key: str
    name: str
    work: Mapping[str, Any] = field(default_factory=lambda: {"kind": "manual"})
    output_keys: tuple[str, ...] = ()
    result_document: str = "none"
    limits: Limits = Limits()
    labels: tuple[str, ...] = ()
    resources: Mapping[str, int] = field(default_factory=dict)
    gate: str | None = None
    join: Join | None = None
    stage: str = ""
    agent: str = ""
    requires: tuple[str, ...] | None = None
    handoff: Mapping[str, Any] | None = None
    rules: tuple[Rule, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.work["kind"])


@dataclass(frozen=True)
class Requirement:
    """`count` votes of people with this role, in this group, or of this user. `kind`: role, group, user."""

    kind: str
    name: str
    count: int = 1


@dataclass(frozen=True)
class Approval:
    who: tuple[Requirement, ...] = (Requirement("role", "reviewer"),)
    requester_may: bool = False
    producer_may: bool = False
    reason_required: bool = False
    max_rounds: int = MAX_ROUNDS


@dataclass(frozen=True)
class Due:
    """After `after` seconds: remind, escalate or reject; never approve."""

    after: float
    then: str = "remind"


@dataclass(frozen=True)
class Gate:
    """`on_reject` is None where the line's knob decides; `mode`: auto, manual, checks_then_manual, skip."""

    key: str
    name: str
    mode: str = "manual"
    requires_approval: bool = True
    checks: Group | None = None
    approval: Approval = Approval()
    offers: tuple[str, ...] = OFFERS
    on_reject: str | None = None
    due: Due | None = None
    notify: tuple[str, ...] = ()
    description: str = ""
    tool: Tool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs_its_tool(self) -> bool:
        return self.tool is not None and self.tool.enabled and self.mode != "skip"

    @property
    def tool_asks_for(self) -> frozenset[str]:
        """Actions that a result of its tool may ask for; none under `manual`, where results are only shown."""
        if self.tool is None or not self.runs_its_tool or self.mode == "manual":
            return frozenset()
        return frozenset({self.tool.action, *(() if self.tool.approve_warnings else ("hold",))})

    @property
    def always_asks(self) -> bool:
        """Whether a person is asked whatever the checks say."""
        return self.mode in ("manual", "checks_then_manual") and self.requires_approval

    @property
    def enforces_checks(self) -> bool:
        """Under `manual` checks are only shown; under `skip` there are none. Nothing but warnings is no check."""
        enforced = self.mode in ("auto", "checks_then_manual")
        return enforced and self.checks is not None and bool(self.checks.counted)


@dataclass(frozen=True)
class End:
    """A terminal. `kind`: completed, failed, cancelled."""

    key: str
    kind: str
    label: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    key: str
    name: str
    description: str
    preset: str
    policy: Policy
    flags: Mapping[str, bool]
    start: str
    inputs: tuple[Input, ...]
    stations: tuple[Station, ...]
    gates: tuple[Gate, ...]
    ends: tuple[End, ...]
    forbidden_parallel: tuple[tuple[str, str], ...] = ()
    budgets: tuple[Budget, ...] = ()
    escalations: tuple[EscalationRule, ...] = ()
    handoff: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def station(self, key: str) -> Station:
        """Raises KeyError."""
        return self.stations_by_key[key]

    def gate(self, key: str) -> Gate:
        """Raises KeyError."""
        return self.gates_by_key[key]

    def end(self, key: str) -> End:
        """Declared or built in. Raises KeyError."""
        return self.ends_by_key[key]

    def escalation(self, trigger: str) -> EscalationRule:
        """What holds when something is escalated with this trigger."""
        return rule_for(self.escalations, self.preset, trigger)

    def next_station(self, key: str) -> Station | None:
        """The next in the order of the document; None after the last."""
        after = self.position(key) + 1
        return self.stations[after] if after < len(self.stations) else None

    def position(self, key: str) -> int:
        """0 for the first station. Raises KeyError."""
        return self._positions[key]

    def waits_at(self, target: str, source: str) -> bool:
        """Whether a token that leaves `source` for `target` waits there for its siblings. One from a station that the
        join does not wait for enters as it would any station."""
        station = self.stations_by_key.get(target)
        join = station.join if station else None
        return join is not None and source != target and source in join.wait_for

    def stage(self, key: str) -> str:
        """The station that stands for the stage of this one: itself, unless it is the rework of another. Raises
        KeyError."""
        return self.stations_by_key[key].stage or key

    def requires(self, key: str) -> tuple[str, ...]:
        """What a forward move out of this station needs (law §8). Raises KeyError."""
        own = self.stations_by_key[key].requires
        if own is not None:
            return own
        return STANDARD_REQUIREMENTS if self.policy.preconditions else ()

    def handoff_schema(self, key: str) -> Mapping[str, Any] | None:
        """Of what this station hands over; None: the standard one. Raises KeyError."""
        own = self.stations_by_key[key].handoff
        return self.handoff if own is None else own

    @cached_property
    def limits(self) -> tuple[Budget, ...]:
        """All named budgets that bind: those that the line declares, then the standard ones of its policy."""
        declared = {budget.key for budget in self.budgets}
        more = standard(self.stations_by_key, declared) if self.policy.standard_budgets else ()
        return tuple(budget for budget in (*self.budgets, *more) if budget.most is not None)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The keys of the agents that its stations name, each once."""
        return tuple(dict.fromkeys(station.agent for station in self.stations if station.agent))

    @cached_property
    def stations_by_key(self) -> dict[str, Station]:
        return {station.key: station for station in self.stations}

    @cached_property
    def gates_by_key(self) -> dict[str, Gate]:
        return {gate.key: gate for gate in self.gates}

    @cached_property
    def ends_by_key(self) -> dict[str, End]:
        built_in = {key: End(key, kind) for key, kind in BUILT_IN_ENDS.items()}
        return {**built_in, **{end.key: end for end in self.ends}}

    @cached_property
    def rules_by_id(self) -> dict[str, tuple[Station, Rule]]:
        return {rule.id: (station, rule) for station in self.stations for rule in station.rules}

    @cached_property
    def reads_words(self) -> bool:
        """Whether some check reads the last word at a gate: `gates.<key>`."""
        checks = (check for gate in self.gates if gate.checks for check in gate.checks.checks())
        return any(check.field.startswith("gates.") for check in checks)

    @cached_property
    def asks_a_person(self) -> bool:
        """Whether the line declares a gate that always asks a person: then a jump is reviewed, too."""
        return any(gate.always_asks for gate in self.gates)

    @cached_property
    def faults(self) -> tuple[Problem, ...]:
        """Of rules that were kept although they are faulty."""
        return tuple(rule.fault for station in self.stations for rule in station.rules if rule.fault)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {station.key: index for index, station in enumerate(self.stations)}

    def to_document(self) -> dict[str, Any]:
        """The complete document: policy knobs filled, durations in seconds. Reads back as an equal line."""
        return writing.line_document(self)
