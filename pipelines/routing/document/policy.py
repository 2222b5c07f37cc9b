"""The policy knobs of a line and the presets that fill them (law §4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.routing.basics.schema_parts import Schema, words
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.fields.field import Around, Written, declared
from pipelines.routing.document.fields.plain import Choice, Count
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.reading.reader import Reader, one_of, unknown_word
from pipelines.routing.document.routes import ON_REJECT, Route

DEFAULT_PRESET: Final = "alp"
VISIT_CAP: Final = 100
# `limit:0` to `limit:999999999`
_LIMIT: Final = re.compile(r"limit:(0|[1-9][0-9]{0,8})\Z")


# Its knobs. What is not said, or is wrong, is as the preset says.


def _usual(key: str, around: Around) -> Any:
    return getattr(PRESETS[around.preset or DEFAULT_PRESET], key)


@dataclass(frozen=True, kw_only=True)
class Knob(Choice):
    choices: Mapping[str, str] = field(kw_only=False)
    written: Written = Written.ALWAYS

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        return reader.choice(key, self.choices, _usual(key, around))

    def absent(self, reader: Reader, key: str, around: Around) -> Any:
        return _usual(key, around)


@dataclass(frozen=True, kw_only=True)
class RouteKnob(Route):
    def absent(self, reader: Reader, key: str, around: Around) -> Any:
        return _usual(key, around)


@dataclass(frozen=True, kw_only=True)
class YesNo(Knob):
    """`yes` or `no`; true and false too, which YAML 1.1 tools make of them. Always yes in the presets."""

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        value = reader.raw(key)
        if type(value) is bool:
            return value
        if value not in ("yes", "no"):
            reader.note(key, "has to be yes or no")
        return bool(value != "no")

    def write(self, value: Any) -> Any:
        return "yes" if value else "no"

    def schema(self) -> Schema:
        return words(("yes", "no", True, False))


@dataclass(frozen=True, kw_only=True)
class NewerYesNo(YesNo):
    """A version that was published before there were these knobs names all others: there they are off, whatever its
    preset. Left out where it is off, so that such a version stays as it is."""

    default: Any = False
    written: Written = Written.UNLESS_EMPTY

    def absent(self, reader: Reader, key: str, around: Around) -> Any:
        older = (name for name, field in POLICY.fields.items() if not isinstance(field, NewerYesNo))
        return _usual(key, around) and not all(map(reader.has, older))

    def write(self, value: Any) -> Any:
        return "yes" if value else ""


@dataclass(frozen=True, kw_only=True)
class Revisit(Knob):
    """Revisit policy: one of the words, or `limit:<n>`."""

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        usual = _usual(key, around)
        value = reader.text(key, usual)
        if value not in self.choices and not _LIMIT.match(value):
            known = {**self.choices, "limit:<n>": "At most a number of times again"}
            hint = _.of("allow, forbid or limit:<n>", one_of(known, known))
            reader.note(key, unknown_word(value), hint)
            return usual
        return value

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^(allow|forbid|limit:(0|[1-9][0-9]{0,8}))$"}


@dataclass(frozen=True, kw_only=True)
class Loops(Knob):
    """A whole number, or `none`."""

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        return None if reader.raw(key) == "none" else reader.count(key, _usual(key, around))

    def write(self, value: Any) -> Any:
        return "none" if value is None else value

    def schema(self) -> Schema:
        return {"anyOf": [Count().schema(), words(self.choices)]}


@dataclass(frozen=True, kw_only=True)
class Cap(Count):
    least: int = 1

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        return reader.count(key, _usual(key, around), least=self.least)

    def absent(self, reader: Reader, key: str, around: Around) -> Any:
        return _usual(key, around)


YES_NO: Final = {"yes": "Yes", "no": "No"}
STUCK, ESCALATED, FALLBACK = (
    "It is stuck, until somebody helps",
    "It is escalated",
    "It takes the blocked route",
)


@dataclass(frozen=True, slots=True)
class Policy:
    """Every knob filled. `revisit`, `on_failure` and `on_reject` are as written (`limit:2`, `station:fix`)."""

    no_rules: str = declared(
        Knob(
            {
                "advance": "The next one, or completed",
                "end": "The task is completed",
                "refuse": "Refused: it needs rules",
            },
            label="A station without rules",
        ),
        required=True,
    )
    no_match: str = declared(
        Knob(
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
    on_failure: str = declared(
        RouteKnob(
            {"halt": "The task fails", "stuck": STUCK, "escalate": ESCALATED, "fallback": FALLBACK},
            "station",
            label="No rule matches a failure",
        ),
        required=True,
    )
    failure_rules: bool = declared(
        YesNo(
            {"yes": "Yes", "no": "No: a failure follows the setting above"},
            label="Rules also apply to failures",
        ),
        required=True,
    )
    revisit: str = declared(
        Revisit(
            {"allow": "Allowed", "forbid": "Never: the task is stuck"},
            label="Coming to a station again",
        ),
        required=True,
    )
    self_loop_limit: int | None = declared(
        Loops(
            {"none": "No limit of its own"},
            label="A rule back to its own station",
            help="Where the rule says no number itself.",
        ),
        required=True,
    )
    on_reject: str = declared(
        RouteKnob(ON_REJECT, "route", label="After a rejection at a gate"), required=True
    )
    on_exhausted: str = declared(
        Knob(
            {"fail": "The task fails", "stuck": STUCK, "escalate": ESCALATED},
            label="A limit is used up",
        ),
        required=True,
    )
    condition_scope: str = declared(
        Knob(
            {
                "current": "The output of the station",
                "merged": "What all stations said so far, the last word counting",
            },
            label="Conditions read",
        ),
        required=True,
    )
    contradiction: str = declared(
        Knob(
            {"later_wins": "The later one counts", "escalate": ESCALATED},
            label="Branches that say different things under one key",
        ),
        required=True,
    )
    visit_cap: int = declared(
        Cap(
            label="Most runs of one station per task",
            help="Regardless of the rules. Beyond it, the task is stuck.",
        ),
        required=True,
    )
    standard_budgets: bool = declared(
        NewerYesNo(
            YES_NO,
            label="The usual limits of AEEF apply",
            help="Rework, restarts and types of failure, each with its number; one below of the same key counts.",
        )
    )
    preconditions: bool = declared(
        NewerYesNo(
            YES_NO,
            label="Going forward needs gate, handoff and agent",
            help="Where a station does not say itself what it needs.",
        )
    )
    deadlocks: bool = declared(
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


def _preset(
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
    "alp": _preset("advance", "default", "halt", "allow", "fail", "fail", self_loop_limit=3),
    "contenox": _preset("end", "fail", "halt", "allow", "fail", "stuck"),
    "vibe-factory": _preset("end", "stuck", "halt", "forbid", "rework", "stuck"),
    "flux": _preset("refuse", "fallback", "fallback", "allow", "reviewer_chooses", "stuck"),
    "aeef": _preset(
        "refuse", "escalate", "escalate", "allow", "rework", "escalate", "escalate", standard=True
    ),
}
