"""Stations: where work is done, and what decides where a task goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.algebra import ConditionView, OutputTest, condition_leaf_tests
from pipelines.routing.document.document_readers.names import note_duplicates, unknown_reference_message
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.evaluations import Evaluation
from pipelines.routing.document.expected_results import (
    ARTIFACT,
    EXPECTS,
    OUTCOME_OF,
    REVIEW,
    DeclaredArtifact,
)
from pipelines.routing.document.fields.field import Field, ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.nested import ListField, ObjectField
from pipelines.routing.document.fields.plain_fields import (
    Amount,
    Choice,
    Count,
    Duration,
    Key,
    Name,
    Reference,
    Text,
    Texts,
    extra_members,
)
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.preconditions import HandoffSchema, Preconditions
from pipelines.routing.document.rules import RULE, Rule

DEFAULT_WORK: Final = "manual"
SIGNAL_RETRIES: Final = 3


# Its limits


@dataclass(frozen=True)
class Limits:
    """Durations in seconds. None where the document says nothing."""

    idle_timeout: float | None = declared_field(
        Duration(label="No-output timeout", help="Time without any output.")
    )
    max_timeout: float | None = declared_field(
        Duration(label="Timeout", help="Then it is cancelled, and the rules decide.")
    )
    expected: float | None = declared_field(
        Duration(label="Expected duration", help="The board shows what is late.")
    )
    max_visits: int | None = declared_field(
        Count(label="Most runs per task", help="Beyond it, the policy for used-up limits decides.")
    )
    max_retries: int | None = declared_field(
        Count(
            label="Most reworks that it may ask for",
            help="When the work itself signals rework. 3 where nothing is said.",
        )
    )
    cost_usd: Any = declared_field(
        Amount(
            label="Most cost of a run (USD)",
            help="As the work reports it. It is stopped beyond that, and failed.",
        )
    )

    @property
    def signal_retries(self) -> int:
        """Number of times that the work may request its own repetition."""
        return SIGNAL_RETRIES if self.max_retries is None else self.max_retries


LIMITS: Final = Record.of(Limits)

RESOURCES: Final[Record[Mapping[str, int]]] = Record(
    lambda **members: {key: number for key, number in members.items() if number is not None},
    {
        "cpu_seconds": Count(least=1, label="Processor time (s)", help="Of all its processes."),
        "memory_mb": Count(least=1, label="Memory (MB)"),
        "processes": Count(least=1, label="Processes"),
        "disk_mb": Count(
            least=1,
            label="Disk (MB)",
            help="Leave empty for the runner's own limits. A station that exceeds one fails.",
        ),
    },
)
"""What the programs of a station may use together."""


# Its join


@dataclass(frozen=True, kw_only=True)
class BranchesField(Texts):
    """The stations that are waited for."""

    required: bool = True

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        stations = reader.texts(key)
        if not reader.given[key]:
            reader.note(key, "names no station")
        for index, station in enumerate(stations):
            if station not in context.names.stations:
                path = member_path(reader.path_of(key), index)
                reader.problems.note(path, unknown_reference_message("station", station))
        note_duplicates(reader, key, stations, "the station", context.names.stations)
        return stations

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        reader.note(key, "names no station")
        return ()

    def schema(self) -> Schema:
        return schema_parts.list_schema(schema_parts.SOME_TEXT, minItems=1, uniqueItems=True)


AGGREGATIONS: Final = {
    "all-pass": "all branches passed",
    "any-pass": "one branch passed",
    "majority-pass": "more than half passed",
    "none": "all have come, whatever they say",
}


@dataclass(frozen=True)
class Join:
    wait_for: tuple[str, ...] = declared_field(
        BranchesField(
            label="Joins the branches from",
            help="A fork ends here: the station waits for all of these.",
        ),
        required=True,
    )
    aggregation: str = declared_field(Choice(AGGREGATIONS, default="all-pass", label="Continues when"))


JOIN: Final = Record.of(Join)


# The station


@dataclass(frozen=True, kw_only=True)
class WorkField(Field):
    """Work of a station as the document states it, `kind` among its keys; a person does work that is not
    specified."""

    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.read_object_or_none(key, context.work) or self.absent_value(reader, key, context)

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return {"kind": DEFAULT_WORK}

    def write(self, value: Any) -> Any:
        return dict(value)

    def schema(self) -> Schema:
        return schema_parts.definition_reference("work")


@dataclass(frozen=True)
class Station:
    """`key` is unique among stations and ends.

    `stage`: the station whose rework this one is, "" for a stage of its own. `agent`: the key of the agent that works
    here; `second_agent`: of one that answers for the station besides. `requires`: what a forward move out of it needs,
    None where the policy decides; `handoff`: the JSON Schema of what it hands over, None where the line's holds."""

    key: str = declared_field(
        Key(
            label="Key",
            help="Rules refer to the station by this key. If you change it, the rules that lead here are changed too.",
        ),
        required=True,
    )
    name: str = declared_field(Name(), required=True)
    work: Mapping[str, Any] = declared_field(WorkField(default={"kind": DEFAULT_WORK}))
    output_keys: tuple[str, ...] = declared_field(
        Texts(
            between=",",
            label="Keys of the output",
            help="Comma-separated. Only these are kept.",
        )
    )
    result_document: str = declared_field(
        Choice(
            {
                "required": "Required: without one the outcome is blocked",
                "optional": "Read, if the work writes one",
                "none": "Not asked for",
            },
            default="none",
            label="Result document",
            help="A JSON file that the work writes to the path in GATELINE_RESULT.",
        )
    )
    expects: str = declared_field(
        Choice(
            EXPECTS,
            default="",
            label="What is expected of it",
            help="Looked at when it has ended, whatever it says of itself.",
        )
    )
    outcome_of: Mapping[str, str] = declared_field(ObjectField(OUTCOME_OF, default={}))
    artifacts: tuple[DeclaredArtifact, ...] = declared_field(
        ListField(ARTIFACT, unique="path", what="the file")
    )
    limits: Limits = declared_field(ObjectField(LIMITS, default=Limits()))
    labels: tuple[str, ...] = declared_field(
        Texts(
            between=",",
            label="Labels",
            help="Comma-separated. Only a runner that has all of them runs this station.",
        )
    )
    resources: Mapping[str, int] = declared_field(ObjectField(RESOURCES, default={}))
    gate: str | None = declared_field(
        Reference(
            "gates",
            "gate",
            label="Gate of the station",
            help="Asked before the rules, whatever the outcome.",
        )
    )
    join: Join | None = declared_field(ObjectField(JOIN))
    stage: str = declared_field(
        Reference(
            "stations",
            "station",
            default="",
            blank=True,
            label="Does the rework of",
            help="To enter it is rework of that station's stage, to go back from it is not.",
        )
    )
    agent: str = declared_field(
        Text(
            longest=64,
            label="Agent",
            help="The key of an agent of the project; see its settings. Leave empty for nobody in particular.",
        )
    )
    second_agent: str = declared_field(
        Text(
            longest=64,
            label="Second agent",
            help="Another agent that answers for the station: it has to be available, and its owner is asked too.",
        )
    )
    requires: tuple[str, ...] | None = declared_field(Preconditions())
    handoff: Mapping[str, Any] | None = declared_field(HandoffSchema())
    rules: tuple[Rule, ...] = declared_field(ListField(RULE, written=WriteCondition.ALWAYS))
    extra: Mapping[str, Any] = declared_field(extra_members())

    @property
    def kind(self) -> str:
        return str(self.work["kind"])

    @property
    def agents(self) -> tuple[str, ...]:
        """The keys of the agents that answer for it, the one that works here first."""
        return tuple(dict.fromkeys(filter(None, (self.agent, self.second_agent))))

    @cached_property
    def rules_above_first_faulty(self) -> tuple[Rule, ...]:
        """The rules above the first faulty one: there a decision stops."""
        return self.rules[: next((at for at, rule in enumerate(self.rules) if rule.fault), len(self.rules))]

    @cached_property
    def rule_tests(self) -> tuple[Callable[[ConditionView], bool], ...]:
        """Tests of the conditions of the readable rules."""
        return tuple(rule.test for rule in self.rules_above_first_faulty)

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Evaluations of the station's rules, each question once."""
        return tuple(
            {evaluation.key: evaluation for rule in self.rules for evaluation in rule.evaluations}.values()
        )

    @cached_property
    def jsonpath_count(self) -> int:
        """Number of operands of the station's conditions that have a path with `$`, which may have to be
        walked."""
        return sum(rule.jsonpath_count for rule in self.rules)

    @cached_property
    def rules_read_output(self) -> bool:
        """Tell whether a condition of its readable rules asks for the output."""
        return any(
            isinstance(leaf, OutputTest)
            for rule in self.rules_above_first_faulty
            for leaf in condition_leaf_tests(rule.when)
        )

    @property
    def first_faulty_rule_or_none(self) -> Rule | None:
        """The first faulty rule."""
        return (
            self.rules[len(self.rules_above_first_faulty)]
            if len(self.rules_above_first_faulty) < len(self.rules)
            else None
        )


def _note_station_problems(reader: Reader, context: ReadContext) -> None:
    """A review needs somebody who is asked."""
    for kind, word in reader.values["outcome_of"].items():
        if word == REVIEW and not reader.values["gate"]:
            message = "asks a person, and the station has no gate"
            reader.problems.note(member_path(reader.path_of("outcome_of"), kind), message, "name a gate")


STATION: Final = Record.of(Station, name="station", check=_note_station_problems)
