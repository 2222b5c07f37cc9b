"""The document after the edits of a remedy, as the canvas has it then (static/editor/store/commands-edits.ts)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pipelines.web.editor.fixes.edits import Document, Edit


def applied(document: Document, edits: Iterable[Edit]) -> dict[str, Any]:
    """The document after the edits, in their order."""
    changed = dict(document)
    for edit in edits:
        changed = _APPLY[edit["do"]](changed, edit)
    return changed


def _changed(given: Document, edit: Edit) -> dict[str, Any]:
    kept = {key: value for key, value in given.items() if key not in edit["unset"]}
    return {**kept, **edit["set"]}


def _each(document: Document, part: str, key: str, change: Callable[[Document], Any]) -> dict[str, Any]:
    members = [change(each) if each.get("key") == key else each for each in document.get(part) or ()]
    return {**document, part: members}


def _rules(document: Document, rule: str, change: Callable[[list[Document], int], Any]) -> dict[str, Any]:
    """`change` gets the rules of the station that has the rule, and its place."""

    def of_station(station: Document) -> Document:
        rules = station.get("rules") or []
        place = next((i for i, each in enumerate(rules) if each.get("id") == rule), None)
        return station if place is None else {**station, "rules": change(list(rules), place)}

    return {**document, "stations": [of_station(each) for each in document["stations"]]}


def _move_rule(document: Document, edit: Edit) -> dict[str, Any]:
    def moved(rules: list[Document], place: int) -> list[Document]:
        rule = rules.pop(place)
        to = next((i for i, each in enumerate(rules) if each.get("id") == edit["before"]), len(rules))
        return [*rules[:to], rule, *rules[to:]]

    return _rules(document, edit["rule"], moved)


def _remove_rule(document: Document, edit: Edit) -> dict[str, Any]:
    return _rules(document, edit["rule"], lambda rules, place: rules[:place] + rules[place + 1 :])


def _change_rule(document: Document, edit: Edit) -> dict[str, Any]:
    def change(rules: list[Document], place: int) -> list[Document]:
        return [*rules[:place], _changed(rules[place], edit), *rules[place + 1 :]]

    return _rules(document, edit["rule"], change)


def _add_rule(document: Document, edit: Edit) -> dict[str, Any]:
    taken = {rule.get("id") for station in document["stations"] for rule in station.get("rules") or ()}
    rule = {**edit["rule"], "id": free(edit["rule"]["id"], taken)}
    return _each(
        document,
        "stations",
        edit["station"],
        lambda station: {**station, "rules": [*(station.get("rules") or ()), rule]},
    )


def free(wanted: str, taken: Iterable[Any]) -> str:
    """`wanted`, `wanted-2`, …: the first that is not taken."""
    names = set(taken)
    number, name = 2, wanted
    while name in names:
        name, number = f"{wanted}-{number}", number + 1
    return name


def _remove_station(document: Document, edit: Edit) -> dict[str, Any]:
    """With the rules that lead nowhere else; a fork only loses that branch."""
    gone = edit["station"]
    stations = [
        {**each, **({"rules": _without(each["rules"], gone)} if each.get("rules") else {})}
        for each in document["stations"]
        if each["key"] != gone
    ]
    return {**document, "stations": stations}


def _move_station(document: Document, edit: Edit) -> dict[str, Any]:
    stations = list(document["stations"])
    moved = next((each for each in stations if each["key"] == edit["station"]), None)
    others = [each for each in stations if each is not moved]
    to = next((i for i, each in enumerate(others) if each["key"] == edit["before"]), None)
    if moved is None or to is None:
        return dict(document)
    return {**document, "stations": [*others[:to], moved, *others[to:]]}


def _without(rules: Iterable[Document], gone: str) -> list[Document]:
    kept: list[Document] = []
    for rule in rules:
        to = rule.get("to")
        left = [each for each in to if each != gone] if isinstance(to, list) else None
        if left is not None and len(left) != len(to or ()):
            kept += [{**rule, "to": left[0] if len(left) == 1 else left}] if left else []
        elif to != gone:
            kept.append(rule)
    return kept


def _add(part: str, name: str) -> Callable[[Document, Edit], dict[str, Any]]:
    def add(document: Document, edit: Edit) -> dict[str, Any]:
        members = document.get(part) or []
        if any(each.get("key") == edit[name]["key"] for each in members):
            return dict(document)
        return {**document, part: [*members, edit[name]]}

    return add


_APPLY: dict[str, Callable[[Document, Edit], dict[str, Any]]] = {
    "moveRule": _move_rule,
    "removeRule": _remove_rule,
    "addRule": _add_rule,
    "changeRule": _change_rule,
    "changeStation": lambda document, edit: _each(
        document, "stations", edit["station"], lambda station: _changed(station, edit)
    ),
    "removeStation": _remove_station,
    "moveStation": _move_station,
    "changeGate": lambda document, edit: _each(
        document, "gates", edit["gate"], lambda gate: _changed(gate, edit)
    ),
    "addGate": _add("gates", "gate"),
    "addEnd": _add("ends", "end"),
    "changeLine": _changed,
}
