"""Guarantees: sentences that a line promises, each in one of a few forms (law §14)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.nested import ObjectField
from pipelines.routing.document.fields.plain_fields import Choice, Count, Key, Reference, Text
from pipelines.routing.document.fields.record import Record

REJECT, SEND_BACK = "reject", "send_back"
FORMS: Final = ("never", "at_most", "ends_within", "cost_at_most")
"""Of these a guarantee has exactly one; `after` only goes with `never`."""
MAX_MOVES: Final = 10_000


@dataclass(frozen=True)
class NeverReached:
    """`reach` names what is not entered: a station, an end or a gate. `without`: unless the token has passed this
    station or gate before; "" in a guarantee with `after`."""

    reach: str = declared_field(
        Reference("referable", "station, end or gate", required=True, label="Nothing reaches"), required=True
    )
    without: str = declared_field(Reference("passable", "station or gate", default="", label="Without"))


@dataclass(frozen=True)
class VisitsAtMost:
    """No task enters the station more often."""

    visit: str = declared_field(
        Reference("stations", "station", required=True, label="A task visits"), required=True
    )
    times: int = declared_field(
        Count(
            required=True,
            default=0,
            most=MAX_MOVES,
            written=WriteCondition.ALWAYS,
            label="At most so many times",
        ),
        required=True,
    )


@dataclass(frozen=True)
class AfterWord:
    """Span of a guarantee: from this vote at the gate on, until the gate is approved."""

    gate: str = declared_field(
        Reference("gates", "gate", required=True, label="After a decision at"), required=True
    )
    word: str = declared_field(
        Choice(
            {REJECT: "Reject", SEND_BACK: "Send back"},
            required=True,
            default=REJECT,
            written=WriteCondition.ALWAYS,
            label="The decision",
        ),
        required=True,
    )


@dataclass(frozen=True, kw_only=True)
class Dollars(Text):
    """An amount of money as a text, so that it stays as it was written."""

    longest: int = 20

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        amount_text = super().read(reader, key, context)
        try:
            amount = Decimal(amount_text)
        except InvalidOperation:
            amount = Decimal("NaN")
        # “Infinity” is a decimal, too.
        if not amount.is_finite() or amount < 0:
            reader.note(key, "has to be an amount in dollars, as a text", 'such as "41.50"')
        return amount_text

    def schema(self) -> Schema:
        return {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$", "maxLength": self.longest}


NEVER: Final = Record.of(NeverReached)
AFTER: Final = Record.of(AfterWord)
VISITS: Final = Record.of(VisitsAtMost)


@dataclass(frozen=True)
class Guarantee:
    """Exactly one form; see FORMS."""

    id: str = declared_field(
        Key(label="Id", help="What it is known by in problems and plans."), required=True
    )
    never: NeverReached | None = declared_field(ObjectField(NEVER))
    after: AfterWord | None = declared_field(ObjectField(AFTER))
    at_most: VisitsAtMost | None = declared_field(ObjectField(VISITS))
    ends_within: int | None = declared_field(Count(least=1, most=MAX_MOVES, label="Moves at most"))
    cost_at_most: str | None = declared_field(
        Dollars(default=None, label="Dollars at most", placeholder="41.50", code=True)
    )

    @property
    def form(self) -> str:
        """Form of the guarantee, one of FORMS."""
        return next(name for name in FORMS if getattr(self, name) is not None)


def _note_guarantee_problems(reader: Reader, context: ReadContext) -> None:
    forms = [name for name in FORMS if reader.has(name)]
    if len(forms) != 1:
        message = "says what it promises in exactly one form" if forms else "says nothing"
        hint = _.of(f"known: {', '.join(FORMS)}", "choose what it promises")
        reader.note(forms[1] if forms else "never", message, hint)
        return
    never, after = reader.values["never"], reader.values["after"]
    if after is not None and never is None:
        reader.note("after", "goes with never only")
    elif after is not None and never.without:
        reader.note("never", "has no `without` where `after` says when")
    elif never is not None and after is None and not never.without:
        reader.note("never", "names what has to come before, as `without`")


class GuaranteeRecord(Record[Guarantee]):
    def schema(self) -> Schema:
        never_after = {"required": ["never"]}
        return {**super().schema(), "oneOf": [never_after, *({"required": [f]} for f in FORMS[1:])]}


GUARANTEE: Final = GuaranteeRecord.of(Guarantee, name="guarantee", check=_note_guarantee_problems)
