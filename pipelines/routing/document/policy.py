"""The policy knobs of a line and the presets that fill them (law §4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.routing.basics.schema_parts import Schema, enum_schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Reader, one_of_hint, unknown_word_message
from pipelines.routing.document.fields.field import ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.plain_fields import Choice, Count
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.routes import ON_REJECT, Route

DEFAULT_PRESET: Final = "alp"
VISIT_CAP: Final = 100
# `limit:0` to `limit:999999999`
_LIMIT: Final = re.compile(r"limit:(0|[1-9][0-9]{0,8})\Z")


# Its knobs. What is not said, or is wrong, is as the preset says.


def _preset_value(key: str, context: ReadContext) -> Any:
    return getattr(PRESETS[context.preset or DEFAULT_PRESET], key)


@dataclass(frozen=True, kw_only=True)
class PolicyOption(Choice):
    choices: Mapping[str, str] = field(kw_only=False)
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.choice(key, self.choices, _preset_value(key, context))

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return _preset_value(key, context)


@dataclass(frozen=True, kw_only=True)
class RouteOption(Route):
    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return _preset_value(key, context)


@dataclass(frozen=True, kw_only=True)
class YesNo(PolicyOption):
    """`yes` or `no`; true and false too, which YAML 1.1 tools make of them. Always yes in the presets."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        if type(value) is bool:
            return value
        if value not in ("yes", "no"):
            reader.note(key, "has to be yes or no")
        return bool(value != "no")

    def write(self, value: Any) -> Any:
        return "yes" if value else "no"

    def schema(self) -> Schema:
        return enum_schema(("yes", "no", True, False))


@dataclass(frozen=True, kw_only=True)
class NewerYesNo(YesNo):
    """A version that was published before there were these knobs names all others: there they are off, whatever its
    preset. Left out where it is off, so that such a version stays as it is."""

    default: Any = False
    written: WriteCondition = WriteCondition.UNLESS_EMPTY

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        older = (name for name, field in POLICY.fields.items() if not isinstance(field, NewerYesNo))
        return _preset_value(key, context) and not all(map(reader.has, older))

    def write(self, value: Any) -> Any:
        return "yes" if value else ""


@dataclass(frozen=True, kw_only=True)
class Revisit(PolicyOption):
    """Revisit policy: one of the words, or `limit:<n>`."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        usual = _preset_value(key, context)
        value = reader.text(key, usual)
        if value not in self.choices and not _LIMIT.match(value):
            known = {**self.choices, "limit:<n>": "At most a number of times again"}
            hint = _.of("allow, forbid or limit:<n>", one_of_hint(known, known))
            reader.note(key, unknown_word_message(value), hint)
            return usual
        return value

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^(allow|forbid|limit:(0|[1-9][0-9]{0,8}))$"}


@dataclass(frozen=True, kw_only=True)
class LoopLimitOption(PolicyOption):
    """A whole number, or `none`."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return None if reader.raw(key) == "none" else reader.count(key, _preset_value(key, context))

    def write(self, value: Any) -> Any:
        return "none" if value is None else value

    def schema(self) -> Schema:
        return {"anyOf": [Count().schema(), enum_schema(self.choices)]}


@dataclass(frozen=True, kw_only=True)
class Cap(Count):
    least: int = 1

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return reader.count(key, _preset_value(key, context), least=self.least)

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return _preset_value(key, context)


YES_NO: Final = {"yes": "Yes", "no": "No"}
STUCK, ESCALATED, FALLBACK = (
    "It is stuck, until somebody helps",
    "It is escalated",
    "It takes the blocked route",
)


@dataclass(frozen=True, slots=True)
class Policy:
    """Every knob filled. `revisit`, `on_failure` and `on_reject` are as written (`limit:2`, `station:fix`)."""

    no_rules: str = declared_field(
        PolicyOption(
            {
                "advance": "The next one, or completed",
                "end": "The task is completed",
                "refuse": "Refused: it needs rules",
            },
            label="A station without rules",
        ),
        required=True,
    )
    no_match: str = declared_field(
        PolicyOption(
            {
                "default": "The next station in order",
                "fail": "The task fails",
                "stuck": STUCK,
                "fallback": FALLBACK,
                "escalate": ESCALATED,
            },
            label="No rule matches a passed outcome",
        ),
        required=True,
    )
    on_failure: str = declared_field(
        RouteOption(
            {"halt": "The task fails", "stuck": STUCK, "escalate": ESCALATED, "fallback": FALLBACK},
            "station",
            label="No rule matches a failure",
        ),
        required=True,
    )
    failure_rules: bool = declared_field(
        YesNo(
            {"yes": "Yes", "no": "No: a failure follows the setting above"},
            label="Rules also apply to failures",
        ),
        required=True,
    )
    revisit: str = declared_field(
        Revisit(
            {"allow": "Allowed", "forbid": "Never: the task is stuck"},
            label="Coming to a station again",
        ),
        required=True,
    )
    self_loop_limit: int | None = declared_field(
        LoopLimitOption(
            {"none": "No limit of its own"},
            label="A rule back to its own station",
            help="Where the rule says no number itself.",
        ),
        required=True,
    )
    on_reject: str = declared_field(
        RouteOption(ON_REJECT, "route", label="After a rejection at a gate"), required=True
    )
    on_exhausted: str = declared_field(
        PolicyOption(
            {"fail": "The task fails", "stuck": STUCK, "escalate": ESCALATED},
            label="A limit is used up",
        ),
        required=True,
    )
    condition_scope: str = declared_field(
        PolicyOption(
            {
                "current": "The output of the station",
                "merged": "What all stations said so far, the last word counting",
            },
            label="Conditions read",
        ),
        required=True,
    )
    contradiction: str = declared_field(
        PolicyOption(
            {"later_wins": "The later one counts", "escalate": ESCALATED},
            label="Branches that say different things under one key",
        ),
        required=True,
    )
    visit_cap: int = declared_field(
        Cap(
            label="Most runs of one station per task",
            help="Regardless of the rules. Beyond it, the task is stuck.",
        ),
        required=True,
    )
    standard_budgets: bool = declared_field(
        NewerYesNo(
            YES_NO,
            label="The usual limits of AEEF apply",
            help="Rework, restarts and types of failure, each with its number; one below of the same key counts.",
        )
    )
    preconditions: bool = declared_field(
        NewerYesNo(
            YES_NO,
            label="Going forward needs gate, handoff and agent",
            help="Where a station does not say itself what it needs.",
        )
    )
    deadlocks: bool = declared_field(
        NewerYesNo(
            YES_NO,
            label="Look for stations that take too long",
            help="A station that takes more than twice the time expected of it is held as a deadlock.",
        )
    )

    @property
    def revisit_limit(self) -> int | None:
        """Re-entries allowed per station, or None for any number; `forbid` is asked by `forbids_revisits`."""
        return int(self.revisit.partition(":")[2]) if self.revisit.startswith("limit:") else None

    @property
    def forbids_revisits(self) -> bool:
        return self.revisit == "forbid"


POLICY: Final = Record.of(Policy, name="policy")


def _preset_policy(
    no_rules: str,
    no_match: str,
    on_failure: str,
    revisit: str,
    on_reject: str,
    on_exhausted: str,
    contradiction: str = "later_wins",
    self_loop_limit: int | None = None,
    *,
    standard: bool = False,
) -> Policy:
    return Policy(
        no_rules=no_rules,
        no_match=no_match,
        on_failure=on_failure,
        failure_rules=True,
        revisit=revisit,
        self_loop_limit=self_loop_limit,
        on_reject=on_reject,
        on_exhausted=on_exhausted,
        condition_scope="current",
        contradiction=contradiction,
        visit_cap=VISIT_CAP,
        standard_budgets=standard,
        preconditions=standard,
        deadlocks=standard,
    )


PRESETS: Final[dict[str, Policy]] = {
    "alp": _preset_policy("advance", "default", "halt", "allow", "fail", "fail", self_loop_limit=3),
    "contenox": _preset_policy("end", "fail", "halt", "allow", "fail", "stuck"),
    "vibe-factory": _preset_policy("end", "stuck", "halt", "forbid", "rework", "stuck"),
    "flux": _preset_policy("refuse", "fallback", "fallback", "allow", "reviewer_chooses", "stuck"),
    "aeef": _preset_policy(
        "refuse", "escalate", "escalate", "allow", "rework", "escalate", "escalate", standard=True
    ),
}
