"""Named budgets of a line as values (law §8), and those that the preset `aeef` switches on (AEEF E16, E20)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import unknown_reference_message
from pipelines.routing.document.document_readers.reader import (
    Reader,
    expected_hint,
    one_of_hint,
    quoted_value,
)
from pipelines.routing.document.exhausted_limits import ExhaustedAction
from pipelines.routing.document.fields.field import ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.plain_fields import Choice, Count, Key, Text, Texts, extra_members
from pipelines.routing.document.fields.record import Record

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "rules": ("rules",),
    "edges": ("edges",),
    "station": ("stations",),
    "failure_type": ("failure_types", "stations"),
    "same_stage": ("stations",),
    "cross_stage": (),
    "restart": ("stations",),
    "loop": ("stations",),
}
"""Each kind with the lists that it reads, the one that it needs first; see docs/rules.md."""

NEEDS: Final = ("rules", "edges", "station", "failure_type", "loop")
"""Kinds that count nothing without their first list."""

WORDS: Final = {
    "rules": "Times rules are taken, together",
    "edges": "Moves from station to station",
    "station": "Entries of stations, together",
    "failure_type": "Moves with a type of failure",
    "same_stage": "Rework within a stage",
    "cross_stage": "Rework across stages",
    "restart": "Restarts of the whole line",
    "loop": "Rounds of a loop",
}
"""What each kind counts."""

MAX_ROLE: Final = 64
STAGE_OWNER: Final = "stage-owner"
"""The role that stands for the human owners of the stage: of the agents of the stage in which it happened."""
MANAGER: Final = "development-manager"


# Its keys


@dataclass(frozen=True, kw_only=True)
class CountedTexts(Texts):
    """A list of what is counted, which only some kinds have. `part`: where in Names its members are; `what` a sentence
    calls one."""

    between: str = ","
    help: str = "Comma-separated"
    code: bool = True
    part: str = ""
    what: str = ""

    def applies(self, reader: Reader, key: str) -> bool:
        return key in KINDS[reader.values["kind"]]

    def needed(self, reader: Reader, key: str) -> bool:
        kind = reader.values["kind"]
        return kind in NEEDS and key == KINDS[kind][0]

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        keys = reader.texts(key)
        if not keys:
            return self.absent_value(reader, key, context)
        for index, member in enumerate(keys):
            self.check_member(member, index, reader, key, context)
        # Named twice it is one of them: else one move would be counted twice
        return tuple(dict.fromkeys(keys))

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        if self.needed(reader, key):
            machine = _("a budget of kind %(kind)s names some", kind=reader.values["kind"])
            reader.note(key, _.of(machine, "is missing"))
        return ()

    def check_member(self, member: str, index: int, reader: Reader, key: str, context: ReadContext) -> None:
        known = getattr(context.names, self.part) if self.part else (member,)
        if member not in known:
            message = unknown_reference_message(self.what, member)
            reader.problems.note(
                member_path(reader.path_of(key), index), message, expected_hint(member, known)
            )


@dataclass(frozen=True, kw_only=True)
class FromToEdgeTexts(CountedTexts):
    """Edges, each written as from->to."""

    def check_member(self, member: str, index: int, reader: Reader, key: str, context: ReadContext) -> None:
        names, path = context.names, member_path(reader.path_of(key), index)
        source, arrow, target = member.partition("->")
        if not arrow:
            reader.problems.note(
                path, _("%(member)s is no edge", member=quoted_value(member)), "write it as from->to"
            )
        elif source not in names.stations:
            message = unknown_reference_message("station", source)
            reader.problems.note(path, message, expected_hint(source, names.stations))
        elif target not in names.places:
            message = unknown_reference_message("station or end", target)
            reader.problems.note(path, message, expected_hint(target, names.places))

    def schema(self) -> Schema:
        return schema_parts.list_schema({"type": "string", "pattern": "^.+->.+$"})


@dataclass(frozen=True, kw_only=True)
class BudgetLimit(Count):
    """A whole number, or `none`, which switches a standard budget off."""

    required: bool = True
    remedy: str = "a whole number, or none"
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return None if reader.given[key] == "none" else reader.count(key)

    def write(self, value: Any) -> Any:
        return "none" if value is None else value

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), {"const": "none"}]}


@dataclass(frozen=True, kw_only=True)
class BudgetRole(Text):
    """Nobody where it is empty."""

    default: str | None = None
    longest: int = MAX_ROLE

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return super().read(reader, key, context) or None


@dataclass(frozen=True)
class Budget:
    """`most` takings are allowed, the next one is refused; None: any number, which switches a standard one off.

    `on_exhausted` and `exhausted_to` as of a rule. `role`: who is told of an escalation."""

    key: str = declared_field(Key(label="Key"), required=True)
    kind: str = declared_field(
        Choice(
            WORDS,
            required=True,
            default="rules",
            remedy=one_of_hint(WORDS, WORDS),
            label="What is counted",
        ),
        required=True,
    )
    rules: tuple[str, ...] = declared_field(
        CountedTexts(part="rules", what="rule", label="Rules, by their ids")
    )
    edges: tuple[str, ...] = declared_field(FromToEdgeTexts(label="Paths, each as from->to"))
    stations: tuple[str, ...] = declared_field(
        CountedTexts(part="stations", what="station", label="Stations, by their keys")
    )
    failure_types: tuple[str, ...] = declared_field(CountedTexts(label="Types of failure"))
    most: int | None = declared_field(
        BudgetLimit(label="So many are allowed", help="A number, or none for no limit.", code=True),
        required=True,
        kw_only=True,
    )
    on_exhausted: str | None = declared_field(ExhaustedAction(label="After that"))
    exhausted_to: str | None = None
    role: str | None = declared_field(
        BudgetRole(
            label="Who is told",
            help="Only where it is escalated. Leave empty for whom the escalations name for a used-up limit.",
        )
    )
    label: str = declared_field(Text(label="Name", placeholder="as the key"))
    extra: Mapping[str, Any] = declared_field(extra_members())

    @property
    def name(self) -> str:
        return self.label or self.key


class BudgetRecord(Record[Budget]):
    def schema(self) -> Schema:
        """Return the schema: each kind with the lists that it reads, and no others."""
        lists = {key for key, field in self.fields.items() if isinstance(field, CountedTexts)}
        members = {key: field.schema() for key, field in self.fields.items()}
        return {"oneOf": [self._of_kind(kind, lists, members) for kind in KINDS]}

    def _of_kind(self, kind: str, lists: Collection[str], members: Mapping[str, Schema]) -> Schema:
        needs = KINDS[kind][:1] if kind in NEEDS else ()
        own = {key: member for key, member in members.items() if key not in lists or key in KINDS[kind]}
        needed = {key: {**members[key], "minItems": 1} for key in needs}
        required = [key for key, field in self.fields.items() if field.required]
        return schema_parts.object_schema((*required, *needs), **{**own, **needed, "kind": {"const": kind}})


BUDGET: Final = BudgetRecord.of(Budget, name="budget", first=("key", "kind", "on_exhausted", "most"))


def failure_type_spellings(name: str) -> tuple[str, ...]:
    """A failure type as tables, code and labels write it."""
    return (name, name.replace(" ", "_"), name.replace(" ", "-"))


def standard_budgets(stations: Collection[str], declared: Collection[str] = ()) -> tuple[Budget, ...]:
    """The numbers of AEEF for a line with these stations; a declared budget of the same key takes its place."""
    budgets = [*_LIMITS, *_failure_type_budgets()]
    # AEEF gives this number to its own stage alone, which has this key
    if "deployment" in stations:
        budgets.append(
            Budget(
                "deployment-retry",
                "same_stage",
                most=2,
                stations=("deployment",),
                on_exhausted="escalate",
                role="human-investigation",
            )
        )
    return tuple(budget for budget in budgets if budget.key not in declared)


_LIMITS: Final = (
    Budget("same-stage-rework", "same_stage", most=3, on_exhausted="escalate", role=STAGE_OWNER),
    Budget("cross-stage-rework", "cross_stage", most=5, on_exhausted="escalate", role=MANAGER),
    Budget("restart", "restart", most=2, on_exhausted="escalate", role="cto"),
)

FAILURES: Final = {
    "test failure": 3,
    "test gap": 2,
    "acceptance mismatch": 1,
    "vulnerability": 3,
    "license": 2,
    "evidence gap": 2,
    "configuration error": 2,
    "environment mismatch": 2,
    "health check": 1,
}
"""How often a station may be left for each type of failure (AEEF E16)."""


def _failure_type_budgets() -> list[Budget]:
    return [
        Budget(
            f"failure-{name.replace(' ', '-')}",
            "failure_type",
            most=most,
            # A name of one word is spelt alike in all three ways.
            failure_types=tuple(dict.fromkeys(failure_type_spellings(name))),
            on_exhausted="escalate",
            role=MANAGER,
        )
        for name, most in FAILURES.items()
    ]
