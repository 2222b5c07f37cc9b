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
from pipelines.routing.basics.go_time_format import format_time

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


def read_macro(inner: str) -> Macro | None:
    """None for what is no macro."""
    match = _MACRO.fullmatch(inner)
    return Macro(inner, match) if match else None


def required_variables(macro: Macro) -> tuple[str, ...]:
    """The variables without which it is undefined: of several, the last one that is tried decides."""
    if macro.kind != "var" or macro.found["else"] is not None:
        return ()
    return (macro.found["var"],)


def counted_edge(macro: Macro) -> tuple[str, str] | None:
    """The stations of `{{edge_count:a->b}}`."""
    return (macro.found["from"], macro.found["to"]) if macro.kind == "edge_count" else None


def render_macro(macro: Macro, scope: Mapping[str, Any]) -> str:
    """`scope["macros"]` has `now` (a datetime), `chain`, `os`, `arch`, `edges` {"a->b": n} and `tools` [names].

    Raises UndefinedVariable."""
    return KINDS[macro.kind](macro, scope)


def _variable(macro: Macro, scope: Mapping[str, Any]) -> str:
    value = _look_up(macro.found["var"], scope)
    if value is None and macro.found["else"] is not None:
        other = macro.found["other"].strip()
        second = _OTHER.fullmatch(other)
        value = _look_up(second[1], scope) if second else other
    if value is None:
        raise UndefinedVariable(macro.text)
    return value


def _look_up(name: str, scope: Mapping[str, Any]) -> str | None:
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


def _now(macro: Macro, scope: Mapping[str, Any]) -> str:
    moment: datetime = _macro_fact(macro, scope, "now")
    return format_time(moment, DATE if macro.kind == "date" else macro.found["now"] or RFC3339)


def _edges(macro: Macro, scope: Mapping[str, Any]) -> str:
    return str(_macro_fact(macro, scope, "edges").get("->".join(counted_edge(macro) or ()), 0))


def _tools(macro: Macro, scope: Mapping[str, Any]) -> str:
    return jsontext.dumps(list(_macro_fact(macro, scope, "tools")))


def _host(macro: Macro, scope: Mapping[str, Any]) -> str:
    return str(_macro_fact(macro, scope, macro.text.partition(":")[2]))


KINDS: dict[str, Callable[[Macro, Mapping[str, Any]], str]] = {
    "var": _variable,
    "now": _now,
    "date": _now,
    "chain": lambda macro, scope: str(_macro_fact(macro, scope, "chain")),
    "edge_count": _edges,
    "host": _host,
    "tools": _tools,
    "toolservice": _tools,
    "hookservice": _tools,
}
