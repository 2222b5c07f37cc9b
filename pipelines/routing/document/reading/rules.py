"""Rules of a station. A faulty `when`, `to` or `gates` may wait until the rule is reached; the rest may not."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.problems import Problem, join
from pipelines.routing.basics.values import named
from pipelines.routing.document.compose_strategies import STRATEGIES
from pipelines.routing.document.model import BLOCKED, ORIGIN, Compose, Rule
from pipelines.routing.document.paths import PathError, compile_path
from pipelines.routing.document.reading.conditions import FALLBACK, read_condition
from pipelines.routing.document.reading.names import Names, read_id
from pipelines.routing.document.reading.reader import Problems, Reader, expected, quote

EXHAUSTED = ("fail", "stuck", "escalate")
MAX_TARGETS = 100


class RuleReader:
    """Reads the rules of one document; `keep`: keep rules whose `when`, `to` or `gates` is faulty."""

    def __init__(self, names: Names, *, keep: bool) -> None:
        self.names = names
        self.keep = keep

    def __call__(self, reader: Reader) -> Rule:
        own = Problems()
        rule_id = read_id(reader)
        when = self._when(reader, own)
        to = self._to(reader, own)
        gates = self._gates(reader, own)
        if not self.keep:
            reader.problems.extend(own)
        on_exhausted, exhausted_to = read_exhausted(reader, self.names)
        rule = Rule(
            id=rule_id,
            when=when,
            to=to,
            label=reader.text("label"),
            gates=gates,
            max_retries=reader.count("max_retries"),
            max_visits=reader.count("max_visits"),
            allow_revisit=reader.optional_flag("allow_revisit"),
            on_exhausted=on_exhausted,
            exhausted_to=exhausted_to,
            feedback=reader.flag("feedback"),
            compose=reader.each("compose", _compose),
            fault=_together(own),
            source={key: reader.given[key] for key in ("when", "to", "gates") if key in reader.given},
            extra=reader.object("extra"),
        )
        reader.done()
        return rule

    def _when(self, reader: Reader, own: Problems) -> Any:
        value = reader.raw("when")
        if not reader.has("when"):
            return FALLBACK
        return read_condition(value, reader.at("when"), own, self.names.places)

    def _to(self, reader: Reader, own: Problems) -> tuple[str, ...]:
        value, path = reader.raw("to"), reader.at("to")
        if type(value) is str:
            return self._one_target(value, path, own)
        if type(value) is list:
            return self._targets(value, path, own)
        own.note(
            path,
            f"has to be a key or a list of keys, not {named(value)}" if reader.has("to") else "is missing",
        )
        return ()

    def _one_target(self, value: str, path: str, own: Problems) -> tuple[str, ...]:
        known = (*self.names.places, ORIGIN, BLOCKED)
        if value not in known:
            own.note(path, f"the line has no station or end {quote(value)}", expected(value, known))
        return (value,)

    def _targets(self, values: list[Any], path: str, own: Problems) -> tuple[str, ...]:
        if not values or len(values) > MAX_TARGETS:
            own.note(path, f"a fork has between 1 and {MAX_TARGETS} targets")
        for index, value in enumerate(values):
            if type(value) is not str or value not in self.names.stations:
                shown = quote(value) if type(value) is str else named(value)
                own.note(join(path, index), f"a fork leads to stations of the line, not to {shown}")
            elif value in values[:index]:
                own.note(join(path, index), f"the fork leads to {quote(value)} twice")
        return tuple(map(str, values))

    def _gates(self, reader: Reader, own: Problems) -> tuple[str, ...]:
        value, path = reader.raw("gates"), reader.at("gates")
        if not reader.has("gates"):
            return ()
        if type(value) is not list:
            own.note(path, f"has to be a list of gates, not {named(value)}")
            return ()
        for index, gate in enumerate(value):
            if type(gate) is not str or gate not in self.names.gates:
                shown = quote(gate) if type(gate) is str else named(gate)
                hint = expected(str(gate), self.names.gates)
                own.note(join(path, index), f"the line has no gate {shown}", hint)
        return tuple(dict.fromkeys(map(str, value)))


def _together(own: Problems) -> Problem | None:
    """The first fault, with the number of the others."""
    if not own.found:
        return None
    first, others = own.found[0], len(own.found) - 1
    return Problem(first.path, first.message + (f" (and {others} more)" if others else ""), first.hint)


def _compose(reader: Reader) -> Compose:
    var = reader.text("var", required=True, longest=128)
    if var.strip() and (set(var) & set("{}") or any(c.isspace() for c in var)):
        reader.note("var", "the name of a variable has no spaces and no braces")
    path = _path(reader) if reader.has("path") else reader.raw("path")
    strategy = reader.choice("strategy", STRATEGIES, "override") if reader.has("strategy") else None
    reader.known["strategy"] = None
    if not reader.has("path") and not reader.has("strategy"):
        reader.note("path", "is missing")
    reader.done()
    return Compose(var, path, strategy)


def _path(reader: Reader) -> Any:
    try:
        return compile_path(reader.text("path", required=True) or "$")
    except PathError as error:
        reader.note("path", str(error))
        return None


def read_exhausted(reader: Reader, names: Names) -> tuple[str | None, str | None]:
    """Of a rule or a named budget: the word, or the key of `{to: key}`."""
    value = reader.raw("on_exhausted")
    if not reader.has("on_exhausted"):
        return None, None
    if type(value) is dict:
        return None, _exhausted_to(Reader(value, reader.at("on_exhausted"), reader.problems), names)
    if type(value) is not str or value not in EXHAUSTED:
        reader.note("on_exhausted", f"has to be {', '.join(EXHAUSTED)} or {{to: station or end}}")
        return None, None
    return value, None


def _exhausted_to(reader: Reader, names: Names) -> str | None:
    target = reader.text("to", required=True)
    if target and target not in names.places:
        message = f"the line has no station or end {quote(target)}"
        reader.note("to", message, expected(target, names.places))
    reader.done()
    return target or None
