"""Places that two people changed at once, as a person reads them: the part by its name, both values in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from pipelines.formats.line_merge import ORDER, MergeConflict
from pipelines.routing.basics import jsontext
from pipelines.routing.document.document_readers.conditions import read_condition
from pipelines.routing.document.document_readers.reader import Problems
from pipelines.routing.sentences.conditions import condition_words

# `stations[build].rules[r1].to`: the list, the key in it, the rule and the rest
PLACE: Final = re.compile(
    r"^(?P<list>stations|gates|ends|inputs)\[(?P<key>[^\]]*)\]"
    r"(?:\.rules\[(?P<rule>[^\]]*)\])?(?:\.(?P<rest>.*))?$"
)
FIELDS: Final = {
    "name": "name",
    "label": "label",
    "when": "condition",
    "to": "leads to",
    "gates": "gates",
    "gate": "gate of the station",
    "work": "work",
    "join": "join",
    "approval": "approval",
    "mode": "mode",
    "start": "first station",
    "description": "description",
    "policy": "policy",
    "rules": "rules",
    ORDER: "order",
    f"rules.{ORDER}": "order of the rules",
    f"stations.{ORDER}": "order of the stations",
}
LONGEST = 400
Document = Mapping[str, Any]


def clash_data(clash: MergeConflict, document: Document) -> dict[str, Any]:
    """Return a clash of two edits as plain values, with `place`, `mineWords`, `theirsWords` and the part of the
    canvas (`station`, `rule`, `gate`). `document` provides the names."""
    match = PLACE.match(clash.path)
    kind, key, rule, rest = match.group("list", "key", "rule", "rest") if match else (None, None, None, None)
    field = rest if match else clash.path
    return {
        **asdict(clash),
        "place": _place_text(document, kind, key, rule, field or "") or clash.path,
        "mineWords": _value_text(clash.mine, field or "", document),
        "theirsWords": _value_text(clash.theirs, field or "", document),
        "station": key if kind == "stations" else None,
        "rule": rule,
        "gate": key if kind == "gates" else None,
    }


def _place_text(document: Document, kind: str | None, key: str | None, rule: str | None, field: str) -> str:
    parts = []
    if kind and key is not None:
        parts.append(_part_label(document, kind, key))
    if rule is not None:
        parts.append(f"Rule {_rule_name(document, key, rule)}")
    if field:
        parts.append(_field_label(field))
    return " › ".join(parts)


def _part_label(document: Document, kind: str, key: str) -> str:
    name = _member_name(document, kind, key)
    if kind == "stations":
        return f"Station {name}"
    if kind == "gates":
        return f"Gate {name}"
    if kind == "ends":
        return f"End {name}"
    return f"Input {name}"


def _member_name(document: Document, kind: str, key: object) -> str:
    member = _member_by_key_or_none(document.get(kind), "key", key)
    return str((member.get("name") or member.get("label")) or key) if member else str(key)


def _rule_name(document: Document, station: str | None, rule: object) -> str:
    """Its label, else its number."""
    rules = (_member_by_key_or_none(document.get("stations"), "key", station) or {}).get("rules")
    member = _member_by_key_or_none(rules, "id", rule)
    if member is None:
        return str(rule)
    return str(member.get("label") or list(rules or ()).index(member) + 1)


def _member_by_key_or_none(members: object, identity: str, key: object) -> Document | None:
    if not isinstance(members, Sequence):
        return None
    return next(
        (member for member in members if isinstance(member, Mapping) and member.get(identity) == key), None
    )


def _field_label(field: str) -> str:
    known = FIELDS.get(field)
    return known if known else field.replace(".", " › ")


def _value_text(value: Any, field: str, document: Document) -> str:
    """Return the value in words where there are some, else as JSON; "" where there is nothing."""
    if value is None:
        return ""
    if field == "when":
        return _condition_text(value, document)
    if field == "to":
        targets = value if isinstance(value, list) else [value]
        return ", ".join(_target_text(document, target) for target in targets)
    if field.endswith(ORDER) and isinstance(value, list):
        return " → ".join(_ordered_name(document, field, member) for member in value)
    if field == "gates" and isinstance(value, list):
        return ", ".join(_member_name(document, "gates", gate) for gate in value)
    if field == "" and isinstance(value, Mapping):
        return _part_text(value, document)
    return _shortened_text(value if isinstance(value, str) else jsontext.dumps(value))


def _condition_text(value: Any, document: Document) -> str:
    problems = Problems()
    condition = read_condition(value, "", problems, _target_keys(document))
    return _shortened_text(
        jsontext.dumps(value)
        if problems.found
        else condition_words(condition, called=partial(_member_name, document, "stations"))
    )


def _target_keys(document: Document) -> set[str]:
    lists = [document.get("stations"), document.get("ends")]
    return {
        str(member.get("key"))
        for members in lists
        if isinstance(members, list)
        for member in members
        if isinstance(member, Mapping)
    }


def _target_text(document: Document, key: object) -> str:
    if key == "@origin":
        return "back where it came from"
    if key == "@blocked":
        return "stays here, blocked"
    return _member_name(
        document, "stations" if _member_by_key_or_none(document.get("stations"), "key", key) else "ends", key
    )


def _ordered_name(document: Document, field: str, key: object) -> str:
    if field.startswith("stations"):
        return _member_name(document, "stations", key)
    for station in document.get("stations") or ():
        if isinstance(station, Mapping) and _member_by_key_or_none(station.get("rules"), "id", key):
            return _rule_name(document, str(station.get("key")), key)
    return str(key)


def _part_text(value: Document, document: Document) -> str:
    """Return the text of a part that the other person deleted."""
    # Only a rule has these.
    if "to" in value or "when" in value:
        when = _value_text(value.get("when", {"always": True}), "when", document)
        return f"{when} → {_value_text(value.get('to'), 'to', document)}"
    return str(value.get("name") or value.get("label") or value.get("key") or "") or _shortened_text(
        jsontext.dumps(value)
    )


def _shortened_text(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
