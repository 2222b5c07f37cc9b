"""A line as values: what `decide` reads, and what a LineVersion freezes (line-document.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import whole_number_or_none
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import FactTest, condition_leaf_tests
from pipelines.routing.document.budgets import BUDGET, Budget, standard_budgets
from pipelines.routing.document.document_readers.names import unknown_reference_message
from pipelines.routing.document.document_readers.reader import Reader, quoted_value
from pipelines.routing.document.ends import BUILT_IN_ENDS, END, End
from pipelines.routing.document.escalations import ESCALATION, EscalationRule, escalation_rule
from pipelines.routing.document.expected_results import TASK_LIMITS, TaskLimits
from pipelines.routing.document.fields.field import Field, ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.nested import ListField, ObjectField
from pipelines.routing.document.fields.plain_fields import (
    Choice,
    Flag,
    Key,
    Name,
    Reference,
    Text,
    Texts,
    extra_members,
)
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.gates import GATE, JUMP, JUMP_GATE, Gate
from pipelines.routing.document.guarantees import GUARANTEE, Guarantee
from pipelines.routing.document.inputs import INPUT, Input
from pipelines.routing.document.jumps import ALL, Jumps
from pipelines.routing.document.policy import DEFAULT_PRESET, POLICY, PRESETS, Policy
from pipelines.routing.document.preconditions import STANDARD_REQUIREMENTS, HandoffSchema
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import STATION, Station
from pipelines.routing.document.workspace import GitWorkspace, WorkspaceField

LAW: Final = 1
"""The number of the law that this product knows (`gateline: 1`)."""
REVISION: Final = 3
"""The newest of that law: which reading of its sentences `decide` follows (law §12). A version keeps the one under
which it was published, and a decision that of its version."""
SILENT_ALLOWS_ALL: Final = 2
"""The last revision under which a line that says nothing of jumps allows them all."""
FALLBACK_READS_AGAIN: Final = 2
"""The last revision under which the route that a word demands behind a fallback meets output that cannot be parsed."""
OUTPUT_DECIDES_NOTHING: Final = 2
"""The last revision under which what was observed of the output decides nothing: unreadable, refused, empty, or the
line of a signal."""


# Its own keys


@dataclass(frozen=True, kw_only=True)
class Law(Field):
    """Absent means 1: a newer number never changes what an older document means."""

    default: int = LAW

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        if whole_number_or_none(reader.raw(key)) != LAW:
            reader.note(key, _("this product knows the semantics number %(law)s only", law=LAW))
        return LAW

    def schema(self) -> Schema:
        return {"const": LAW, "description": "The number of the law that the line follows."}


@dataclass(frozen=True, kw_only=True)
class Stations(ListField):
    """Stations of a line, at least one."""

    required: bool = True
    least: int = 1

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = super().read(reader, key, context)
        # An empty list is as none; where its members are faulty, they were told by themselves
        return value if value or reader.given[key] else self.absent_value(reader, key, context)

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        reader.note(key, "is empty", "a line has at least one station")
        return ()


@dataclass(frozen=True, kw_only=True)
class PolicyOfPreset(ObjectField):
    """Policy of a line; an absent policy is that of the preset."""

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return PRESETS[context.preset]


@dataclass(frozen=True, kw_only=True)
class Start(Reference):
    """The first station where nothing is said."""

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return next(iter(context.names.stations), "")


@dataclass(frozen=True, kw_only=True)
class Pairs(Field):
    """Pairs of stations."""

    default: tuple[tuple[str, str], ...] = ()

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        pairs = []
        for member, path in reader.members(key):
            if (
                type(member) is not list
                or len(member) != 2
                or not all(type(station_key) is str for station_key in member)
            ):
                reader.problems.note(path, "has to be a pair of stations")
                continue
            for index, station in enumerate(member):
                if station not in context.names.stations:
                    reader.problems.note(
                        member_path(path, index), unknown_reference_message("station", station)
                    )
            pairs.append((member[0], member[1]))
        return tuple(pairs)

    def write(self, value: Any) -> Any:
        return [list(pair) for pair in value]

    def schema(self) -> Schema:
        return schema_parts.list_schema(schema_parts.list_schema(schema_parts.TEXT, minItems=2, maxItems=2))


FLAGS: Final[Record[Mapping[str, bool]]] = Record(
    dict,
    {
        "agentic_conditions": Flag(
            written=WriteCondition.ALWAYS,
            label="Conditions may ask an evaluator or a hook",
            help="Needed for agentic and hook conditions.",
        )
    },
)


@dataclass(frozen=True, kw_only=True)
class ParsedLine:
    gateline: int = declared_field(Law())
    key: str = declared_field(Key(), required=True)
    name: str = declared_field(Name(label="Name"), required=True)
    description: str = declared_field(Text(label="Description", rows=3))
    preset: str = declared_field(
        Choice(
            {
                "alp": "alp: next station in order; a failure ends the task",
                "contenox": "contenox: fails where no rule matches",
                "vibe-factory": "vibe-factory: no station twice",
                "flux": "flux: takes the blocked route where no rule matches",
                "aeef": "aeef: escalates, with limits",
            },
            default=DEFAULT_PRESET,
            label="Preset",
            help="Default for the settings below.",
        )
    )
    policy: Policy = declared_field(PolicyOfPreset(POLICY), required=True)
    flags: Mapping[str, bool] = declared_field(
        ObjectField(FLAGS, default={"agentic_conditions": False}, written=WriteCondition.ALWAYS)
    )
    workspace: GitWorkspace | None = declared_field(WorkspaceField())
    start: str = declared_field(
        Start("stations", "station", written=WriteCondition.ALWAYS, blank=True, label="A task starts at"),
        required=True,
    )
    inputs: tuple[Input, ...] = declared_field(
        ListField(INPUT, unique="key", what="the input", written=WriteCondition.ALWAYS)
    )
    stations: tuple[Station, ...] = declared_field(
        Stations(STATION, unique="key", what="the station", written=WriteCondition.ALWAYS)
    )
    gates: tuple[Gate, ...] = declared_field(
        ListField(GATE, unique="key", what="the gate", written=WriteCondition.ALWAYS)
    )
    ends: tuple[End, ...] = declared_field(
        ListField(END, unique="key", what="the end", written=WriteCondition.ALWAYS)
    )
    forbidden_parallel: tuple[tuple[str, str], ...] = declared_field(
        Pairs(
            label="Stations that never run in parallel",
            help="A fork that would bring both about is not published, and a move that would is refused.",
        )
    )
    budgets: tuple[Budget, ...] = declared_field(
        ListField(
            BUDGET,
            unique="key",
            what="the budget",
            label="Named limits",
            help="Moves beyond the limit are refused. If several apply, the strictest counts.",
        )
    )
    escalations: tuple[EscalationRule, ...] = declared_field(
        ListField(
            ESCALATION,
            unique="trigger",
            what="the trigger",
            label="Who is told",
            help="What no rule names goes as the preset says, else to the administrators of the project.",
        )
    )
    limits: TaskLimits = declared_field(ObjectField(TASK_LIMITS, default=TaskLimits()))
    sensitive: tuple[str, ...] = declared_field(
        Texts(
            label="Sensitive files",
            help="Patterns of paths, one a line, as tests/** or *.yml. Changes of these are marked in reviews.",
        )
    )
    guarantees: tuple[Guarantee, ...] = declared_field(
        ListField(GUARANTEE, unique="id", what="the guarantee")
    )
    jumps: tuple[str, ...] | str | None = declared_field(
        Jumps(
            label="Work that is complete may jump to",
            help="Stations and ends, one a line, or all. Where nothing is said: none, and with the preset flux all.",
            code=True,
            rows=3,
        )
    )
    handoff: Mapping[str, Any] | None = declared_field(HandoffSchema())
    extra: Mapping[str, Any] = declared_field(extra_members())
    # Said by whoever keeps the document, never by the document itself.
    revision: int = field(default=REVISION)

    def station(self, key: str) -> Station:
        """Raises KeyError."""
        return self.stations_by_key[key]

    def gate(self, key: str) -> Gate:
        """A declared gate, or the review of a jump, which no line declares (line-document.md, `@jump`). Raises
        KeyError."""
        return JUMP_GATE if key == JUMP else self.gates_by_key[key]

    def end(self, key: str) -> End:
        """Declared or built in. Raises KeyError."""
        return self.ends_by_key[key]

    def escalation_rule(self, trigger: str) -> EscalationRule:
        """Return the rule for an escalation with this trigger."""
        return escalation_rule(self.escalations, self.preset, trigger)

    def next_station_or_none(self, key: str) -> Station | None:
        """The next in the order of the document; None after the last."""
        after = self.index_of_station(key) + 1
        return self.stations[after] if after < len(self.stations) else None

    def index_of_station(self, key: str) -> int:
        """0 for the first station. Raises KeyError."""
        return self._positions[key]

    def does_token_wait_at_join(self, target: str, source: str) -> bool:
        """Return whether a token that leaves `source` for `target` waits there for its siblings. A token from
        a station that the join does not wait for enters as it would any station."""
        station = self.stations_by_key.get(target)
        join = station.join if station else None
        return join is not None and source != target and source in join.wait_for

    def stage_key(self, key: str) -> str:
        """The station that stands for the stage of this one: itself, unless it is the rework of another. Raises
        KeyError."""
        return self.stations_by_key[key].stage or key

    def requirements_of(self, key: str) -> tuple[str, ...]:
        """Return the requirements of a forward move out of this station (law §8). Raises KeyError."""
        own = self.stations_by_key[key].requires
        if own is not None:
            return own
        return STANDARD_REQUIREMENTS if self.policy.preconditions else ()

    def handoff_schema(self, key: str) -> Mapping[str, Any] | None:
        """Return the schema of the station's handoff; None: the standard one. Raises KeyError."""
        own = self.stations_by_key[key].handoff
        return self.handoff if own is None else own

    @cached_property
    def named_budgets_in_force(self) -> tuple[Budget, ...]:
        """Named budgets that bind: those that the line declares, then the standard ones of its policy."""
        declared = {budget.key for budget in self.budgets}
        more = standard_budgets(self.stations_by_key, declared) if self.policy.standard_budgets else ()
        return tuple(budget for budget in (*self.budgets, *more) if budget.most is not None)

    @cached_property
    def jump_targets(self) -> tuple[str, ...]:
        """The stations and ends to which a signal `already_complete` may lead (law §14): the one reading of `jumps`,
        which `decide`, the analysis, the simulator and the proofs share."""
        silent_allows = self.preset == "flux" or self.revision <= SILENT_ALLOWS_ALL
        if self.jumps == ALL or (self.jumps is None and silent_allows):
            return (*self.stations_by_key, *self.ends_by_key)
        return tuple(self.jumps or ())

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The keys of the agents that its stations name, each once."""
        agent_pairs = ((station.agent, station.second_agent) for station in self.stations)
        return tuple(dict.fromkeys(agent for agents in agent_pairs for agent in agents if agent))

    @cached_property
    def stations_by_key(self) -> dict[str, Station]:
        return {station.key: station for station in self.stations}

    @cached_property
    def join_keys(self) -> tuple[str, ...]:
        """The keys of the stations at which branches meet."""
        return tuple(station.key for station in self.stations if station.join)

    @cached_property
    def gates_by_key(self) -> dict[str, Gate]:
        return {gate.key: gate for gate in self.gates}

    @cached_property
    def ends_by_key(self) -> dict[str, End]:
        # Before the declared ones: a line may give a built-in end a name of its own
        built_in = {key: End(key, kind) for key, kind in BUILT_IN_ENDS.items()}
        return {**built_in, **{end.key: end for end in self.ends}}

    @cached_property
    def rules_by_id(self) -> dict[str, tuple[Station, Rule]]:
        return {rule.id: (station, rule) for station in self.stations for rule in station.rules}

    @cached_property
    def reads_gate_words(self) -> bool:
        """Return whether some check reads the last vote at a gate: `gates.<key>`."""
        checks = (check for gate in self.gates if gate.checks for check in gate.checks.checks())
        return any(check.field.startswith("gates.") for check in checks)

    @cached_property
    def reads_stations(self) -> bool:
        """Return whether a rule or a check reads observations of other stations (law §13)."""
        rules = (rule for station in self.stations for rule in station.rules)
        tests = (
            leaf for rule in rules for leaf in condition_leaf_tests(rule.when) if isinstance(leaf, FactTest)
        )
        checks = (check for gate in self.gates if gate.checks for check in gate.checks.checks())
        paths = (
            *(test.path.text for test in tests),
            *(check.field.removeprefix("facts.") for check in checks),
        )
        # `stations.…`, `$.stations…`, `$['stations']…`, or `$..`, which may come by it
        return any(path.lstrip("$.['\"").startswith("stations") or path.startswith("$..") for path in paths)

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """Cache of results that are expensive to compute from the line (see `decide/branch_joins/reachability.py`)."""
        return {}

    @cached_property
    def asks_a_person(self) -> bool:
        """Return whether the line declares a gate at which people decide, about every task or a sample: then
        a jump is reviewed, too."""
        return any(gate.has_people for gate in self.gates)

    @cached_property
    def faults(self) -> tuple[Problem, ...]:
        """Faults of rules that remain in the line although they are faulty."""
        return tuple(rule.fault for station in self.stations for rule in station.rules if rule.fault)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {station.key: index for index, station in enumerate(self.stations)}

    def to_document(self) -> dict[str, Any]:
        """The complete document: policy knobs filled, durations in seconds. Reads back as an equal line."""
        return LINE.write(self)


def _note_line_problems(reader: Reader, context: ReadContext) -> None:
    stations: tuple[Station, ...] = reader.values["stations"]
    ends = {end.key for end in reader.values["ends"]} | set(BUILT_IN_ENDS)
    for index, station in enumerate(stations):
        if station.key in ends:
            message = _(
                "%(key)s is an end, and stations and ends share one name space", key=quoted_value(station.key)
            )
            reader.problems.note(f"stations[{index}].key", message)
    _note_repeated_rule_ids(reader, stations)


def _note_repeated_rule_ids(reader: Reader, stations: tuple[Station, ...]) -> None:
    rule_ids: set[str] = set()
    for s, station in enumerate(stations):
        for r, rule in enumerate(station.rules):
            if rule.id and rule.id in rule_ids:
                path = f"stations[{s}].rules[{r}].id"
                reader.problems.note(
                    path, _("the id %(id)s appears twice in the line", id=quoted_value(rule.id))
                )
            rule_ids.add(rule.id)


LINE: Final = Record.of(ParsedLine, first=("gateline", "preset"), check=_note_line_problems)
