"""A change between two documents in one English sentence, with the names that people know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from pipelines.routing.basics import jsontext
from pipelines.routing.document.reading.conditions import read_condition
from pipelines.routing.document.reading.reader import Problems
from pipelines.routing.sentences.conditions import describe

Document = Mapping[str, Any]
MAX_VALUE: Final = 120
PLACES: Final = {"@origin": "where they came from", "@blocked": "an answer (blocked)"}
FIELDS: Final = {
    "station": {
        "name": "Name",
        "gate": "Station gate",
        "join": "Join",
        "output_keys": "Wanted outputs",
        "result_document": "Result document",
        "labels": "Labels of the worker",
        "stage": "Stage",
        "agent": "Agent",
        "requires": "Needed to go forward",
        "handoff": "Schema of the handoff",
        "work.kind": "Kind of work",
    },
    "rule": {
        "label": "Label",
        "when": "Condition",
        "to": "Target",
        "gates": "Gates",
        "max_retries": "Takings at most",
        "max_visits": "Entries at most",
        "allow_revisit": "Coming back",
        "on_exhausted": "When exhausted",
        "feedback": "Feedback",
        "compose": "Variables",
    },
    "gate": {
        "name": "Name",
        "description": "Description",
        "mode": "Mode",
        "requires_approval": "Human step",
        "checks": "Checks",
        "approval.who": "Who decides",
        "offers": "Words offered",
        "on_reject": "After a reject",
        "due": "Due time",
        "notify": "Who is told",
    },
    "end": {"label": "Label", "kind": "Kind"},
    "line": {
        "name": "Name of the line",
        "description": "Description of the line",
        "preset": "Preset",
        "start": "First station",
        "forbidden_parallel": "Pairs that may not run in parallel",
        "budgets": "Budgets",
        "escalations": "Escalations",
        "handoff": "Schema of handoffs",
    },
    "input": {},
}


class ChangeOfDocument(Protocol):
    """One that `formats.changes` found."""

    @property
    def steps(self) -> Sequence[object]: ...
    @property
    def what(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def station(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def old(self) -> Any: ...
    @property
    def new(self) -> Any: ...
    @property
    def affects(self) -> str: ...
    @property
    def place(self) -> int: ...


def sentence(change: ChangeOfDocument, old: Document, new: Document) -> str:
    """`old` and `new`: the documents that were compared. Raises nothing: a draft may hold anything."""
    if change.affects == "layout":
        return _layout(change, new)
    if change.what == "order":
        return _order(change, new)
    if not change.field:
        whole = _ADDED if change.what == "added" else _REMOVED
        return whole[change.kind](change, new if change.what == "added" else old)
    return _field(change, old, new)


def thing(change: ChangeOfDocument, document: Document) -> str:
    """What it is about, by name: “Build”, “Rule 2 of Build”, “Gate Review”, “The line”."""
    if change.kind == "rule":
        return f"Rule {_rule(document, change)} of {_station(document, change.station)}"
    names = {"gate": "Gate", "end": "End", "input": "Input"}
    if change.kind == "station":
        return _station(document, change.key)
    return f"{names[change.kind]} {_name(document, change.kind, change.key)}" if change.key else "The line"


def _layout(change: ChangeOfDocument, new: Document) -> str:
    if len(change.steps) < 4:
        tidied = "The canvas was tidied: nothing has a place of its own any more."
        return tidied if change.what == "removed" else "Stations were placed on the canvas."
    return f"{_target(new, str(change.steps[3]))} stands elsewhere on the canvas."


def _order(change: ChangeOfDocument, new: Document) -> str:
    if change.kind == "station" and change.field.startswith("rules"):
        return (
            f"The rules of {_station(new, change.key)} are tried in another order: {_list(change.new)};"
            f" before: {_list(change.old)}."
        )
    what = change.field.partition(".")[0]
    names = [", ".join(_target(new, str(key)) for key in keys) for keys in (change.new, change.old)]
    return f"The order of the {what} is another: {names[0]}; before: {names[1]}."


def _added_rule(change: ChangeOfDocument, new: Document) -> str:
    station = _station(new, change.station)
    return f"{station} has a new rule {change.place}, {_label(change.new)}: {_leads(change.new, new)}."


def _removed_rule(change: ChangeOfDocument, old: Document) -> str:
    station = _station(old, change.station)
    return f"Rule {change.place} of {station}, {_label(change.old)}, is gone: {_leads(change.old, old)}."


def _new(what: str) -> Callable[[ChangeOfDocument, Document], str]:
    return lambda change, new: f"{what}{_name(new, change.kind, change.key)} ({change.key}) is new."


def _gone(what: str) -> Callable[[ChangeOfDocument, Document], str]:
    return lambda change, old: f"{what}{_name(old, change.kind, change.key)} ({change.key}) is gone."


_ADDED: Final = {
    "station": _new("Station "),
    "gate": _new("Gate "),
    "end": _new("End "),
    "input": _new("Input "),
    "rule": _added_rule,
}
_REMOVED: Final = {
    "station": _gone("Station "),
    "gate": _gone("Gate "),
    "end": _gone("End "),
    "input": _gone("Input "),
    "rule": _removed_rule,
}


def _field(change: ChangeOfDocument, old: Document, new: Document) -> str:
    head = f"{thing(change, new)}: " if change.kind != "line" else ""
    name = _named(change)
    name = name[0].upper() + name[1:] if not head else name[0].lower() + name[1:]
    before = "nothing" if change.what == "added" else _said(change, change.old, old)
    now = "nothing" if change.what == "removed" else _said(change, change.new, new)
    return f"{head}{name}: {before} before, {now} now."


def _named(change: ChangeOfDocument) -> str:
    for group, word in (("policy.", "Policy"), ("flags.", "Flag")):
        if change.kind == "line" and change.field.startswith(group):
            return f"{word} {change.field.removeprefix(group)}"
    return FIELDS[change.kind].get(change.field) or change.field.replace("_", " ")


def _said(change: ChangeOfDocument, value: Any, document: Document) -> str:
    at = (change.kind, change.field)
    if at == ("rule", "when"):
        return condition(value)
    if at in (("rule", "to"), ("line", "start")):
        return _targets(document, value)
    if at == ("rule", "gates") and isinstance(value, list):
        return ", ".join(_name(document, "gate", str(key)) for key in value) or "none"
    if at == ("station", "gate"):
        return _name(document, "gate", str(value))
    if isinstance(value, str) and value:
        return f"“{_cut(value)}”"
    return _cut(jsontext.dumps(value)) if value not in ("", None) else "empty"


def _leads(rule: Any, document: Document) -> str:
    if not isinstance(rule, Mapping):
        return "not readable"
    gates = rule.get("gates")
    names = [_name(document, "gate", str(key)) for key in gates] if isinstance(gates, list) else []
    asks = f" after {', '.join(names)}" if names else ""
    return f"{condition(rule.get('when', {'always': True}))} → {_targets(document, rule.get('to'))}{asks}"


def condition(value: Any, short: bool = False) -> str:
    """In words, `short` for a drawing; one that cannot be read, as it is written."""
    problems = Problems()
    found = read_condition(value, "", problems, ())
    # An edge condition names stations, which nobody looks up here.
    readable = all(problem.path.startswith("edge") for problem in problems.found)
    return describe(found, short) if readable else _cut(jsontext.dumps(value))


def _label(rule: Any) -> str:
    label = rule.get("label") or rule.get("id") if isinstance(rule, Mapping) else ""
    return f"“{label}”"


def _rule(document: Document, change: ChangeOfDocument) -> str:
    station = _member(document, "stations", change.station)
    rules = station.get("rules")
    found = [each for each in rules if isinstance(each, Mapping)] if isinstance(rules, list) else []
    for place, each in enumerate(found, start=1):
        if each.get("id") == change.key:
            return f"{place}, {_label(each)}"
    return change.key


def _targets(document: Document, value: Any) -> str:
    keys = value if isinstance(value, list) else [value]
    return " and ".join(_target(document, str(key)) for key in keys) or "nowhere"


def _target(document: Document, key: str) -> str:
    if key in PLACES:
        return PLACES[key]
    return _station(document, key) if _member(document, "stations", key) else _name(document, "end", key)


def _station(document: Document, key: str) -> str:
    return _name(document, "station", key)


def _name(document: Document, kind: str, key: str) -> str:
    found = _member(document, f"{kind}s", key)
    name = found.get("label") if kind in ("end", "input") else found.get("name")
    return name if isinstance(name, str) and name else key


def _member(document: Document, what: str, key: str) -> Mapping[str, Any]:
    members = document.get(what)
    found = members if isinstance(members, list) else []
    return next((each for each in found if isinstance(each, Mapping) and each.get("key") == key), {})


def _list(keys: Any) -> str:
    return ", ".join(map(str, keys))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
