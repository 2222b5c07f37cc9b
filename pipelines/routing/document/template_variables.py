"""The dialects' macros in templates (dialect B): a closed list, each a look-up. Pure: the moment, the host and the
counts are handed in.

    {{var:name}}  {{var:name|text}}  {{var:name|var:other}}   a variable, else an input, else what stands after the bar
    {{now:2006-01-02}}  {{now}}  {{date}}                      when the job starts, as Go's layout shows it
    {{chain:id}}                                               the key of the line
    {{edge_count:a->b}}                                        how often this task has gone from a to b
    {{host:os}}  {{host:arch}}                                 of the worker
    {{tools}}  {{toolservice:list}}  {{hookservice:list}}      the names of the station's tools, a JSON list
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.routing.basics import jsontext

RFC3339 = "2006-01-02T15:04:05Z07:00"
DATE = "2006-01-02"

_VARIABLE = r"[^\s{}|:\"']+"
_MACRO = re.compile(
    rf"var:(?P<var>{_VARIABLE})(?P<else>\|(?P<other>.*))?"
    r"|now(?::(?P<now>.+))?"
    r"|date|tools|toolservice:list|hookservice:list|chain:id|host:os|host:arch"
    r"|edge_count:(?P<from>[a-z0-9][a-z0-9_.-]*)->(?P<to>[a-z0-9][a-z0-9_.-]*)",
    re.DOTALL,
)
_OTHER = re.compile(rf"var:({_VARIABLE})")


class TemplateError(ValueError):
    """The template cannot be rendered; the message says where and why."""


class UndefinedVariable(TemplateError):
    """The template asks for something that does not exist; `name` as written."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{{{{{name}}}}} is not defined")


@dataclass(frozen=True, slots=True)
class Macro:
    """`text` as it stands between the braces."""

    text: str
    found: re.Match[str]

    @property
    def kind(self) -> str:
        # Without what stands after the bar, which may have a colon of its own
        return self.text.partition("|")[0].partition(":")[0]


def read_macro_or_none(inner: str) -> Macro | None:
    """None for what is no macro."""
    match = _MACRO.fullmatch(inner)
    return Macro(inner, match) if match else None


def required_variables(macro: Macro) -> tuple[str, ...]:
    """The variables without which it is undefined: of several, the last one that is tried decides."""
    if macro.kind != "var" or macro.found["else"] is not None:
        return ()
    return (macro.found["var"],)


def stations_of_counted_edge_or_none(macro: Macro) -> tuple[str, str] | None:
    """The stations of `{{edge_count:a->b}}`."""
    return (macro.found["from"], macro.found["to"]) if macro.kind == "edge_count" else None


def render_macro(macro: Macro, scope: Mapping[str, Any]) -> str:
    """`scope["macros"]` has `now` (a datetime), `chain`, `os`, `arch`, `edges` {"a->b": n} and `tools` [names].

    Raises UndefinedVariable."""
    return KINDS[macro.kind](macro, scope)


def _variable_text(macro: Macro, scope: Mapping[str, Any]) -> str:
    value = _variable_or_input(macro.found["var"], scope)
    if value is None and macro.found["else"] is not None:
        other = macro.found["other"].strip()
        second = _OTHER.fullmatch(other)
        value = _variable_or_input(second[1], scope) if second else other
    if value is None:
        raise UndefinedVariable(macro.text)
    return value


def _variable_or_input(name: str, scope: Mapping[str, Any]) -> str | None:
    """Flat: a macro names a variable, not a way through it."""
    for family in ("variables", "input"):
        values = scope.get(family) or {}
        if name in values:
            value = values[name]
            return value if type(value) is str else jsontext.dumps(value)
    return None


def _macro_fact(macro: Macro, scope: Mapping[str, Any], name: str) -> Any:
    facts = scope.get("macros") or {}
    if name not in facts:
        raise UndefinedVariable(macro.text)
    return facts[name]


def _time_text(macro: Macro, scope: Mapping[str, Any]) -> str:
    moment: datetime = _macro_fact(macro, scope, "now")
    return format_time(moment, DATE if macro.kind == "date" else macro.found["now"] or RFC3339)


def _edge_count_text(macro: Macro, scope: Mapping[str, Any]) -> str:
    return str(
        _macro_fact(macro, scope, "edges").get("->".join(stations_of_counted_edge_or_none(macro) or ()), 0)
    )


def _tools_json(macro: Macro, scope: Mapping[str, Any]) -> str:
    return jsontext.dumps(list(_macro_fact(macro, scope, "tools")))


def _host_text(macro: Macro, scope: Mapping[str, Any]) -> str:
    return str(_macro_fact(macro, scope, macro.text.partition(":")[2]))


KINDS: dict[str, Callable[[Macro, Mapping[str, Any]], str]] = {
    "var": _variable_text,
    "now": _time_text,
    "date": _time_text,
    "chain": lambda macro, scope: str(_macro_fact(macro, scope, "chain")),
    "edge_count": _edge_count_text,
    "host": _host_text,
    "tools": _tools_json,
    "toolservice": _tools_json,
    "hookservice": _tools_json,
}


# Dates written as Go's layouts show them (`2006-01-02 15:04`): what `{{now:…}}` takes (dialect B). Pure.


MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Digits of a second: `.000` keeps zeros at the end, `,999` drops them
_FRACTION = re.compile(r"[.,](0+|9+)(?!\d)")


def format_time(moment: datetime, layout: str) -> str:
    """`moment`, in its own zone, as the layout shows Go's reference time, Mon Jan 2 15:04:05 MST 2006."""
    return _PART.sub(lambda match: _format_part(match[0], moment), layout)


def _format_part(part: str, moment: datetime) -> str:
    if part in PARTS:
        return PARTS[part](moment)
    # Python has microseconds, Go's layouts up to nine digits.
    digits = f"{moment.microsecond:06d}000"[: len(part) - 1]
    if part[1] == "9":  # without the zeros at the end
        digits = digits.rstrip("0")
    return part[0] + digits if digits else ""


def _zone_offset(moment: datetime, between: str, zero: str = "") -> str:
    offset = moment.strftime("%z") or "+0000"
    return zero if zero and offset == "+0000" else f"{offset[:3]}{between}{offset[3:5]}"


PARTS: dict[str, Callable[[datetime], str]] = {
    "January": lambda moment: MONTHS[moment.month - 1],
    "Jan": lambda moment: MONTHS[moment.month - 1][:3],
    "Monday": lambda moment: DAYS[moment.weekday()],
    "Mon": lambda moment: DAYS[moment.weekday()][:3],
    "MST": lambda moment: moment.tzname() or "UTC",
    "2006": lambda moment: f"{moment.year:04d}",
    "002": lambda moment: f"{moment.timetuple().tm_yday:03d}",
    "__2": lambda moment: f"{moment.timetuple().tm_yday:3d}",
    "01": lambda moment: f"{moment.month:02d}",
    "02": lambda moment: f"{moment.day:02d}",
    "03": lambda moment: f"{moment.hour % 12 or 12:02d}",
    "04": lambda moment: f"{moment.minute:02d}",
    "05": lambda moment: f"{moment.second:02d}",
    "06": lambda moment: f"{moment.year % 100:02d}",
    "15": lambda moment: f"{moment.hour:02d}",
    "_2": lambda moment: f"{moment.day:2d}",
    "PM": lambda moment: "PM" if moment.hour >= 12 else "AM",
    "pm": lambda moment: "pm" if moment.hour >= 12 else "am",
    "-07:00": lambda moment: _zone_offset(moment, ":"),
    "-0700": lambda moment: _zone_offset(moment, ""),
    "Z07:00": lambda moment: _zone_offset(moment, ":", "Z"),
    "Z0700": lambda moment: _zone_offset(moment, "", "Z"),
    "1": lambda moment: str(moment.month),
    "2": lambda moment: str(moment.day),
    "3": lambda moment: str(moment.hour % 12 or 12),
    "4": lambda moment: str(moment.minute),
    "5": lambda moment: str(moment.second),
}
# The longest part first: as Go reads them.
_PART = re.compile(
    f"{_FRACTION.pattern}|"
    + "|".join(
        # As in Go, “Janet” and “Monkey” hold no part.
        re.escape(part) + ("(?![a-z])" if part in ("Jan", "Mon") else "")
        for part in sorted(PARTS, key=len, reverse=True)
    )
)
