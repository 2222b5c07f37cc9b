"""A change between two documents in one sentence, with the names that people know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.wording import PartName, joined_wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.conditions import read_condition
from pipelines.routing.document.document_readers.reader import Problems
from pipelines.routing.document.ends import end_label
from pipelines.routing.document.fields.field import Field
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.excerpts import (
    MAX_VALUE,
    Cut,
    both_texts_cut_where_they_differ,
    text_excerpt,
)
from pipelines.routing.sentences.fields import field_label, find_declared_field, quoted_value_words

Document = Mapping[str, Any]
PLACES: Final = {"@origin": "where they came from", "@blocked": "an answer (blocked)"}
FIELDS: Final = {
    "station": {
        "name": "Name",
        "gate": "Station gate",
        "join": "Join",
        "outcome_of": "What failures count as",
        "artifacts": "Files that it leaves",
        "resources": "Limits of its programs",
        "work.kind": "Kind of work",
    },
    "rule": {
        "when": "Condition",
        "to": "Target",
        "gates": "Gates",
        "on_exhausted": "When a limit is used up",
        "feedback": "Feedback",
        "compose": "Variables",
    },
    "gate": {
        "mode": "Mode",
        "requires_approval": "Human step",
        "checks": "Checks",
        "tool": "Tool",
        "approval.who": "Who decides",
        "due": "Due time",
        "fields": "Fields to fill in",
        "sample": "Sample",
        "channels": "Where it can be approved",
    },
    "end": {"kind": "Kind"},
    "line": {
        "key": "Key",
        "name": "Name of the line",
        "description": "Description of the line",
        "start": "First station",
        "workspace": "Repository",
        "escalations": "Escalations",
        "guarantees": "Guarantees",
        "jumps": "Where work may jump when it is complete",
        "handoff": "Schema of handoffs",
    },
    "input": {},
}
"""Where the inspector's label does not name the field outside of its form, or there is none."""
ORDERED: Final = {
    "stations": "stations",
    "gates": "gates",
    "ends": "ends",
    "inputs": "inputs",
    "rules": "rules",
}


class ChangeOfDocument(Protocol):
    """Change of a document from `formats.changes`."""

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


def change_sentence(change: ChangeOfDocument, old: Document, new: Document) -> str:
    """`old` and `new`: the documents that were compared. Raises nothing: a draft may hold anything."""
    # First, for it is a field like others, and its numbers tell nobody anything
    if change.affects == "layout":
        return _layout_sentence(change, new)
    if change.what == "order":
        return _order_sentence(change, old, new)
    if not is_field_change(change):
        return _added_sentence(change, new) if change.what == "added" else _removed_sentence(change, old)
    return _field_sentence(change, old, new)


def change_subject(change: ChangeOfDocument, document: Document) -> str:
    """Return the subject of a change by name: “Build”, “Rule 2 of Build”, “Gate Review”, “The line”."""
    name = _part_name_or_key(document, change.kind, change.key)
    match change.kind:
        case "rule":
            return _rule_name(document, change)
        case "station":
            return name
        case "gate":
            return _("Gate %(name)s", name=name)
        case "end":
            return _("End %(name)s", name=name)
        case "input":
            return _("Input %(name)s", name=name)
    return "The line"


def _layout_sentence(change: ChangeOfDocument, new: Document) -> str:
    if len(change.steps) >= 4:
        return _(
            "%(station)s stands elsewhere on the canvas.", station=_target_name(new, str(change.steps[3]))
        )
    if change.what == "removed":
        return "The canvas was tidied: nothing has a place of its own any more."
    return "Stations were placed on the canvas."


def _order_sentence(change: ChangeOfDocument, old: Document, new: Document) -> str:
    if change.kind == "station" and change.field.startswith("rules"):
        return _(
            "The rules of %(station)s are tried in another order: %(now)s; before: %(before)s.",
            station=_station_name(new, change.key),
            now=_rule_order_text(change.new, change.old, new, change.key),
            before=_rule_order_text(change.old, change.old, old, change.key),
        )
    now, before = (
        joined_wording((_target_name(new, str(key)) for key in keys), ", ")
        for keys in (change.new, change.old)
    )
    what = change.field.partition(".")[0]
    return _(
        "The order of the %(what)s is another: %(now)s; before: %(before)s.",
        what=ORDERED.get(what, what),
        now=now,
        before=before,
    )


def _added_sentence(change: ChangeOfDocument, new: Document) -> str:
    name = _part_name_or_key(new, change.kind, change.key)
    if change.kind == "rule":
        parts = _rule_parts(change, change.new, new)
        if parts["label"]:
            return _("%(station)s has a new rule %(place)s, %(label)s: %(leads)s.", **parts)
        return _("%(station)s has a new rule %(place)s: %(leads)s.", **parts)
    return _("%(kind)s %(name)s is new.", kind=change.kind.capitalize(), name=name)


def _removed_sentence(change: ChangeOfDocument, old: Document) -> str:
    name = _part_name_or_key(old, change.kind, change.key)
    if change.kind == "rule":
        parts = _rule_parts(change, change.old, old)
        if parts["label"]:
            return _("%(station)s, rule %(place)s, %(label)s, is gone: %(leads)s.", **parts)
        return _("%(station)s, rule %(place)s, is gone: %(leads)s.", **parts)
    return _("%(kind)s %(name)s is gone.", kind=change.kind.capitalize(), name=name)


def _field_sentence(change: ChangeOfDocument, old: Document, new: Document) -> str:
    field_values = field_change(change, old, new)
    return _(
        "%(what)s: %(before)s → %(now)s.",
        what=field_values.what,
        before=field_values.before,
        now=field_values.now,
    )


@dataclass(frozen=True, slots=True)
class FieldChange:
    """Change of a field. `what`: the thing and its field; `whole`: both values uncut, where a sentence has no
    room for them."""

    what: str
    before: PartName | str
    now: PartName | str
    whole: tuple[PartName | str, PartName | str] | None


def is_field_change(change: ChangeOfDocument) -> bool:
    """Return whether the change replaces one value by another: nothing was added, removed, placed or
    reordered."""
    return bool(change.field) and change.affects != "layout" and change.what != "order"


def field_change(change: ChangeOfDocument, old: Document, new: Document) -> FieldChange:
    """Return the texts of a change for which `is_field_change` holds."""
    full_values = _old_and_new_value_texts(change, old, new, str)
    before, now = (str(value) for value in full_values)
    # Both are cut at one place, where they begin to differ: two equal beginnings would show no change
    is_long = max(len(before), len(now)) > MAX_VALUE
    values = (
        _old_and_new_value_texts(change, old, new, both_texts_cut_where_they_differ(before, now))
        if is_long
        else full_values
    )
    of_line = change.kind == "line"
    field = _field_label(change, _declared_field_or_none(change, new))
    what = field if of_line else _("%(thing)s: %(field)s", thing=change_subject(change, new), field=field)
    return FieldChange(what, *values, full_values if is_long else None)


def _old_and_new_value_texts(
    change: ChangeOfDocument, old: Document, new: Document, cut: Cut
) -> tuple[PartName | str, PartName | str]:
    before = "nothing" if change.what == "added" else _value_text(change, change.old, old, cut)
    return before, "nothing" if change.what == "removed" else _value_text(change, change.new, new, cut)


def _field_label(change: ChangeOfDocument, field: Field | None) -> str:
    if name := FIELDS[change.kind].get(change.field):
        return name
    key = change.field.rpartition(".")[2]
    return field_label(field, key)


def _declared_field_or_none(change: ChangeOfDocument, document: Document) -> Field | None:
    work = _member_or_empty(document, "stations", change.station).get("work")
    kind = work.get("kind") if isinstance(work, Mapping) else ""
    return find_declared_field(change.kind, change.field, str(kind))


def _value_text(change: ChangeOfDocument, value: Any, document: Document, cut: Cut) -> PartName | str:
    at = (change.kind, change.field)
    if at == ("rule", "when"):
        return _condition_text(value, document)
    if at in (("rule", "to"), ("line", "start")):
        return _target_names(document, value)
    if at == ("rule", "gates") and isinstance(value, list):
        return ", ".join(_part_name_or_key(document, "gate", str(key)) for key in value) or "none"
    if at == ("station", "gate"):
        return _part_name_or_key(document, "gate", str(value))
    if value in ("", None):
        return "empty"
    field = _declared_field_or_none(change, document)
    return quoted_value_words(field, value, lambda key: _name_or_key(document, key), cut)


def _rule_text(rule: Any, document: Document) -> str:
    if not isinstance(rule, Mapping):
        return "not readable"
    gates = rule.get("gates")
    names = (
        [_part_name_or_key(document, "gate", str(key)) for key in gates] if isinstance(gates, list) else []
    )
    parts = {
        "condition": _condition_text(rule.get("when", {"always": True}), document),
        "targets": _target_names(document, rule.get("to")),
    }
    if not names:
        return _("%(condition)s → %(targets)s", **parts)
    return _("%(condition)s → %(targets)s after %(gates)s", **parts, gates=", ".join(names))


def condition_text(value: Any, document: Document, short: bool = False) -> str:
    """Return a condition in words, with names of the `document`, `short` for a drawing; an unreadable one as
    it is written."""
    problems = Problems()
    parsed = read_condition(value, "", problems, ())
    # An edge condition names stations, which nobody looks up here.
    readable = all(problem.path.startswith("edge") for problem in problems.found)
    if not readable:
        return text_excerpt(jsontext.dumps(value))
    return condition_words(parsed, short, lambda key: _name_or_key(document, key))


def _condition_text(value: Any, document: Document) -> str:
    return condition_text(value, document)


def _rule_parts(change: ChangeOfDocument, rule: Any, document: Document) -> dict[str, object]:
    """Return the values for a sentence about a rule that was added or removed: its station, its number, its
    label if it has one, and what it does."""
    return {
        "station": _station_name(document, change.station),
        "place": change.place,
        "label": _quoted_label_or_empty(rule),
        "leads": _rule_text(rule, document),
    }


def _quoted_label_or_empty(rule: Any) -> str:
    """Return the label of a rule in quotes; "" without a label."""
    label = rule.get("label") if isinstance(rule, Mapping) else ""
    return f"“{label}”" if label else ""


def _rule_name(document: Document, change: ChangeOfDocument) -> str:
    """“Build, rule 2”, with its label if it has one."""
    station = _station_name(document, change.station)
    for place, rule in enumerate(_station_rules(document, change.station), start=1):
        if rule.get("id") == change.key:
            parts = {"station": station, "place": place, "label": _quoted_label_or_empty(rule)}
            if parts["label"]:
                return _("%(station)s, rule %(place)s, %(label)s", **parts)
            return _("%(station)s, rule %(place)s", **parts)
    return station


def _rule_order_text(ids: Any, before: Any, document: Document, station: str) -> PartName:
    """Rules by their labels; one without by its number before, since its number is what changes."""
    # As they were: the number is what changes
    numbers = {key: number for number, key in enumerate(before, start=1)}
    labels = {rule.get("id"): _quoted_label_or_empty(rule) for rule in _station_rules(document, station)}
    return joined_wording((labels.get(key) or _rule_number_or_new(numbers.get(key)) for key in ids), ", ")


def _rule_number_or_new(number: int | None) -> str:
    return _("rule %(number)s", number=number) if number else "a new rule"


def _station_rules(document: Document, station: str) -> list[Mapping[str, Any]]:
    rules = _member_or_empty(document, "stations", station).get("rules")
    return [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list) else []


def _target_names(document: Document, value: Any) -> PartName | str:
    keys = value if isinstance(value, list) else [value]
    return joined_wording((_target_name(document, str(key)) for key in keys), " and ") if keys else "nowhere"


def _target_name(document: Document, key: str) -> str:
    if key in PLACES:
        return PLACES[key]
    return (
        _station_name(document, key)
        if _member_or_empty(document, "stations", key)
        else _part_name_or_key(document, "end", key)
    )


def _station_name(document: Document, key: str) -> str:
    return _part_name_or_key(document, "station", key)


def _name_or_key(document: Document, key: str) -> str:
    """The name of a station, gate or end; any other text as it is."""
    kinds = ("station", "gate", "end")
    return next(
        (
            _part_name_or_key(document, kind, key)
            for kind in kinds
            if _member_or_empty(document, f"{kind}s", key)
        ),
        key,
    )


def _part_name_or_key(document: Document, kind: str, key: str) -> str:
    member = _member_or_empty(document, f"{kind}s", key)
    # Ends and inputs have a label in place of a name.
    name = member.get("label") if kind in ("end", "input") else member.get("name")
    # A draft may hold anything there
    name = name if isinstance(name, str) else ""
    return end_label(key, name) if kind == "end" else name or key


def _member_or_empty(document: Document, what: str, key: str) -> Mapping[str, Any]:
    members = document.get(what)
    entries = members if isinstance(members, list) else []
    return next((entry for entry in entries if isinstance(entry, Mapping) and entry.get("key") == key), {})
