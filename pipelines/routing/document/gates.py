"""Gates: who or what decides before a task goes on (law §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.checks import CheckGroup, CheckGroupField
from pipelines.routing.document.document_readers.names import note_duplicates
from pipelines.routing.document.document_readers.reader import Reader, one_of_hint, unknown_word_message
from pipelines.routing.document.fields.field import ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.nested import ListField, ObjectField
from pipelines.routing.document.fields.plain_fields import (
    Choice,
    Count,
    Duration,
    Flag,
    Key,
    Name,
    Text,
    Texts,
    extra_members,
)
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.gate_tools import TOOL, Tool
from pipelines.routing.document.inputs import INPUT, Input
from pipelines.routing.document.requirements import REQUIREMENT, Approvers, Requirement
from pipelines.routing.document.routes import ON_REJECT, Route

JUMP: Final = "@jump"
"""The key of the review of a jump (`already_complete`), among gates and among the facts `gates` and `rounds`."""
WORDS: Final = {
    "approve": "Approve: the task goes on",
    "send_back": "Send back: the station runs again with the reason",
    "reject": "Reject: what is said below",
    "rework": "Rework: the rules as after a failure",
    "abort": "Abort: the task fails",
}
"""What can be said at a gate."""
OFFERS: Final = ("approve", "send_back", "reject")
FLUX_OFFERS: Final = ("approve", "rework", "abort")
MAX_ROUNDS: Final = 3


# Who approves


@dataclass(frozen=True)
class Approval:
    who: tuple[Requirement, ...] = declared_field(Approvers(REQUIREMENT))
    requester_may: bool = declared_field(
        Flag(written=WriteCondition.ALWAYS, label="The requester can decide")
    )
    producer_may: bool = declared_field(Flag(written=WriteCondition.ALWAYS, label="The producer can decide"))
    reason_required: bool = declared_field(
        Flag(
            written=WriteCondition.ALWAYS,
            label="Every word needs a reason",
            help="Rejecting and sending back always do.",
        )
    )
    max_rounds: int = declared_field(
        Count(
            default=MAX_ROUNDS,
            written=WriteCondition.ALWAYS,
            label="Most times it can be sent back",
            placeholder=str(MAX_ROUNDS),
        )
    )

    @property
    def is_unanimous(self) -> bool:
        """Return whether any requirement needs the approval of all its people."""
        return any(requirement.everyone for requirement in self.who)

    @property
    def min_votes(self) -> int:
        """Approvals that it takes at least."""
        return max(1, sum(requirement.place_count for requirement in self.who))


APPROVAL: Final = Record.of(Approval, first=("max_rounds",))


# When it is due

REMINDERS: Final = 3
MAX_REMINDERS: Final = 10
DUE_WORDS: Final = {"remind": "remind", "escalate": "escalate", "reject": "reject"}


@dataclass(frozen=True)
class DuePolicy:
    """Due time of a decision. After `after` seconds: remind, escalate or reject; never approve. `before`: a
    reminder so long before that; `every`: further reminders after it, at most `times`. `business`: all of
    these count the working time of the project."""

    after: float = declared_field(
        Duration(
            required=True,
            default=0,
            written=WriteCondition.ALWAYS,
            label="A decision is wanted within",
            help="Shown, and sorted by. Nothing is ever approved because time has passed.",
        ),
        required=True,
    )
    then: str = declared_field(Choice(DUE_WORDS, default="remind", label="When that time has passed"))
    business: bool = declared_field(
        Flag(
            label="Count only working time",
            help="Days, hours and time zone are those in the settings of the project.",
        )
    )
    before: float | None = declared_field(Duration(label="Remind before it is due"))
    every: float | None = declared_field(
        Duration(label="Remind again every", help="Once it is overdue, until somebody decides.")
    )
    times: int | None = declared_field(
        Count(
            least=1,
            most=MAX_REMINDERS,
            label="At most so many times",
            placeholder=str(REMINDERS),
        )
    )

    @property
    def max_reminders(self) -> int:
        """Maximum number of repeated reminders."""
        return (self.times or REMINDERS) if self.every else 0


def _note_due_problems(reader: Reader, context: ReadContext) -> None:
    values = reader.values
    if values["before"] and values["after"] and values["before"] >= values["after"]:
        reader.note("before", "is as long as the time for the decision, or longer")
    if values["every"] and values["then"] == "reject":
        reader.note("every", "reminds of a review that was rejected by then", "leave it out")


DUE: Final = Record.of(DuePolicy, check=_note_due_problems)


# What is filled in

FIELD_TYPES: Final = ("text", "long_text", "number", "choice", "yes_no", "date")
"""Types of inputs that a gate can ask for: what a person types, and no file or secret."""
MAX_FIELDS: Final = 50


@dataclass(frozen=True, kw_only=True)
class GateFields(ListField):
    """Fields that an approval fills in, like those of the line's form. They become variables of the task (law
    §6)."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        gate_fields = super().read(reader, key, context)
        for index, gate_field in enumerate(gate_fields):
            if gate_field.type not in FIELD_TYPES:
                path = member_path(member_path(reader.path_of(key), index), "type")
                known = ", ".join(FIELD_TYPES)
                reader.problems.note(path, _("a field of a gate is one of %(known)s", known=known))
        if len(gate_fields) > MAX_FIELDS:
            reader.note(key, _("are at most %(most)s", most=MAX_FIELDS))
        return gate_fields

    def schema(self) -> Schema:
        types = {"properties": {"type": {"enum": list(FIELD_TYPES)}}}
        return schema_parts.list_schema({"allOf": [self.record.reference(), types]}, maxItems=MAX_FIELDS)


# Who is asked only now and then


@dataclass(frozen=True)
class SamplePolicy:
    """Sampling: one task in `one_in` is reviewed; the others pass. `always`: checks that ask whatever was
    drawn, where they pass or cannot be read (law §15)."""

    one_in: int = declared_field(
        Count(
            required=True,
            default=1,
            least=1,
            most=1_000_000,
            written=WriteCondition.ALWAYS,
            label="Ask about one task in",
            help="Gateline draws the tasks; nobody can choose them. Leave empty to ask about every task.",
        ),
        required=True,
    )
    always: CheckGroup | None = declared_field(CheckGroupField())


SAMPLE: Final = Record.of(SamplePolicy)


# Where a decision can be made besides the page


@dataclass(frozen=True)
class Channels:
    """Channels of an approval without a session: a confirm page that a mail links to, a button in a chat (law
    §15)."""

    mail_link: bool = declared_field(
        Flag(
            label="Approve by a link in mail",
            help="The link opens a page that asks to confirm, without signing in. It works once, for one person.",
        )
    )
    chat: bool = declared_field(
        Flag(
            label="Approve in a chat",
            help="Messages in a chat of the project get a button, for people who linked their account there.",
        )
    )


CHANNELS: Final = Record.of(Channels)


# The gate


@dataclass(frozen=True, kw_only=True)
class Mode(Choice):
    """Mode of a gate: without checks and a tool, people decide."""

    default: str = "manual"

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.choice(key, self.choices, self.absent_value(reader, key, context))

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        bare = reader.values["checks"] is None and reader.values["tool"] is None
        return "manual" if bare else "checks_then_manual"


MODES: Final = {
    "auto": "Checks alone; a person only where one says hold",
    "manual": "Always people; checks are only shown",
    "checks_then_manual": "Checks first, then people",
    "skip": "Nobody decides: it passes, and that is recorded",
}


@dataclass(frozen=True, kw_only=True)
class Offers(Texts):
    """Votes that the gate offers; the usual ones where none are named."""

    default: tuple[str, ...] = OFFERS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        offers = reader.texts(key)
        for index, word in enumerate(offers):
            if word not in WORDS:
                path = member_path(reader.path_of(key), index)
                machine = _("has to be one of %(known)s", known=", ".join(WORDS))
                # Machines read every word in the message already.
                hint = _.of("", one_of_hint(WORDS, WORDS))
                reader.problems.note(path, _.of(machine, unknown_word_message(word)), hint)
        note_duplicates(reader, key, offers, "the word")
        if reader.given[key] == []:
            reader.note(key, "a gate offers at least one word", "leave the key out for the usual ones")
        return offers or self.absent_value(reader, key, context)

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        # Under `flux`: approve, rework, abort (law §5)
        return FLUX_OFFERS if context.preset == "flux" else self.default

    def schema(self) -> Schema:
        return schema_parts.list_schema(schema_parts.enum_schema(WORDS), minItems=1, uniqueItems=True)


@dataclass(frozen=True)
class Gate:
    """`on_reject` is None where the line's knob decides."""

    key: str = declared_field(
        Key(
            label="Key",
            help="Stations and rules refer to it. They follow a new key.",
        ),
        required=True,
    )
    name: str = declared_field(Name(label="Name"), required=True)
    description: str = declared_field(Text(label="What is asked", help="Whoever decides reads it.", rows=2))
    mode: str = declared_field(Mode(MODES, label="Who decides"))
    requires_approval: bool = declared_field(
        Flag(
            default=True,
            written=WriteCondition.ALWAYS,
            label="A person has to approve",
            help="Without it only a check that says hold asks one.",
        )
    )
    checks: CheckGroup | None = declared_field(CheckGroupField())
    tool: Tool | None = declared_field(ObjectField(TOOL))
    approval: Approval = declared_field(ObjectField(APPROVAL, default=Approval()))
    offers: tuple[str, ...] = declared_field(Offers(label="What they can say"))
    on_reject: str | None = declared_field(Route(ON_REJECT, "route", label="After a rejection"))
    due: DuePolicy | None = declared_field(ObjectField(DUE))
    fields: tuple[Input, ...] = declared_field(GateFields(INPUT, unique="key", what="the field"))
    sample: SamplePolicy | None = declared_field(ObjectField(SAMPLE))
    channels: Channels | None = declared_field(ObjectField(CHANNELS))
    notify: tuple[str, ...] = declared_field(
        Texts(label="Also tell", help="E-mail addresses, one per line.", rows=2)
    )
    extra: Mapping[str, Any] = declared_field(extra_members())

    @property
    def runs_its_tool(self) -> bool:
        return self.tool is not None and self.tool.enabled and self.mode != "skip"

    @property
    def tool_actions(self) -> frozenset[str]:
        """Actions that a result of its tool may ask for; none under `manual`, where results are only shown."""
        if self.tool is None or not self.runs_its_tool or self.mode == "manual":
            return frozenset()
        return frozenset({self.tool.action, *(() if self.tool.approve_warnings else ("hold",))})

    @property
    def always_asks(self) -> bool:
        """Return whether a person is asked whatever the checks report and whichever task it is."""
        return self.has_people and self.sample is None

    @property
    def has_people(self) -> bool:
        """Return whether people decide here, about every task or a sample of them."""
        return self.mode in ("manual", "checks_then_manual") and self.requires_approval

    @property
    def enforces_checks(self) -> bool:
        """Under `manual` checks are only shown; under `skip` there are none. Nothing but warnings is no check."""
        enforced = self.mode in ("auto", "checks_then_manual")
        return enforced and self.checks is not None and bool(self.checks.counting_members)


# An absent name is the key; an absent mode depends on checks and tool.
JUMP_GATE: Final = Gate(key=JUMP, name="Jump")
"""The review of a jump: no checks, the line's knob on a reject, the usual number of rounds."""

GATE: Final = Record.of(Gate, name="gate", first=("key", "checks", "tool"))
