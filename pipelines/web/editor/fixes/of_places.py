"""What puts right a fault of the document itself, by its place: a reference to what is gone, a key that nobody reads, a
switch that is off. A document that is no line yet has only such findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.document.ends import end_words
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.fix import Remedy
from pipelines.web.editor.fixes.of_joins import wait_for_all
from pipelines.web.lines.document_places import parts_of

Document = Mapping[str, Any]
AN_UNKNOWN_KEY = "unknown key"


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """What a path of a document leads through; None where it names no such thing. `rest`: what comes after."""

    station: str | None = None
    rule: str | None = None
    gate: str | None = None
    rest: str = ""


def place_of(document: Document, path: str) -> DocumentPlace:
    """Station, rule and gate by name, if they have one."""
    found = parts_of(document, path)
    if found.what == "gates":
        return DocumentPlace(gate=_name(found.member, "key"), rest=found.rest)
    return DocumentPlace(station=_name(found.member, "key"), rule=_name(found.rule, "id"), rest=found.rest)


def _name(member: Document, key: str) -> str | None:
    name = member.get(key)
    return name if isinstance(name, str) else None


def remedies_of(document: Document, finding: Finding) -> list[Remedy]:
    """Of a finding of not-publishable."""
    place = place_of(document, finding.path)
    return [remedy for make in MAKERS for remedy in make(document, finding, place)]


def _unknown_key(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    """Not inside of conditions, checks and work: there a person looks."""
    key = place.rest
    if finding.message != AN_UNKNOWN_KEY or not key or not key.isidentifier():
        return
    label = f"Remove “{key}”"
    edit = _unset(place, key)
    if edit:
        yield Remedy(label, (edit,), "x")


def _unset(place: DocumentPlace, key: str, **changed: Any) -> edits.Edit | None:
    if place.rule:
        return edits.change_rule(place.rule, key, **changed)
    if place.station:
        return edits.change_station(place.station, key, **changed)
    if place.gate:
        return edits.change_gate(place.gate, key, **changed)
    return edits.change_line(key, **changed)


def _gone(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    """What leads to, or waits for, something that is not there any more."""
    for pattern, key, label in GONE:
        if key == "join" and _leading(document, place):
            # Without it the branches that lead there would meet at a station that waits for none.
            continue
        if re.fullmatch(pattern, place.rest) and finding.message != AN_UNKNOWN_KEY:
            edit = _unset(place, key)
            if edit:
                yield Remedy(label, (edit,), "x")


GONE = (
    (r"on_exhausted\.to", "on_exhausted", "Leave what happens then to the line's policy"),
    (r"gate", "gate", "Take the gate off the station"),
    (r"join(\..*)?", "join", "Remove the join"),
    (r"start", "start", "Start at the first station"),
    (r"on_reject", "on_reject", "Leave rejections to the line's policy"),
)


def _joined(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    """A join that waits for a station that was deleted: for those instead that lead to it."""
    leading = _leading(document, place)
    if place.station and leading:
        join = dict(_stations(document))[place.station].get("join")
        yield wait_for_all(place.station, join, leading)


def _leading(document: Document, place: DocumentPlace) -> list[str]:
    """Of a join that names a station that is not there: those that lead to it, if there are several."""
    if not place.station or not re.fullmatch(r"join\.wait_for\[\d+\]", place.rest):
        return []
    found = [key for key, each in _stations(document) if place.station in _targets(each)]
    return found if len(found) > 1 and place.station not in found else []


def _stations(document: Document) -> list[tuple[str, Document]]:
    stations = document.get("stations")
    members = stations if isinstance(stations, list) else []
    return [(name, each) for each in members if isinstance(each, dict) and (name := _name(each, "key"))]


def _targets(station: Document) -> set[str]:
    rules = station.get("rules")
    found: set[str] = set()
    for rule in rules if isinstance(rules, list) else []:
        to = rule.get("to") if isinstance(rule, dict) else None
        found |= {each for each in (to if isinstance(to, list) else [to]) if isinstance(each, str)}
    return found


def _knob(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    found = re.fullmatch(r"policy\.(\w+)", place.rest)
    policy = document.get("policy")
    if found and isinstance(policy, dict) and found[1] in policy:
        kept = {key: value for key, value in policy.items() if key != found[1]}
        label = "Use the preset"
        yield Remedy(label, (edits.change_line(policy=kept),), "x")


def _pair(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    found = re.match(r"forbidden_parallel\[(\d+)\]", place.rest)
    pairs = document.get("forbidden_parallel")
    if found and isinstance(pairs, list):
        kept = [pair for index, pair in enumerate(pairs) if index != int(found[1])]
        label = "Remove the pair"
        yield Remedy(label, (edits.change_line(forbidden_parallel=kept),), "x")


def _switched_off(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    if place.rest == "when" and "switched off" in finding.message:
        flags = document.get("flags")
        on = {**(flags if isinstance(flags, dict) else {}), "agentic_conditions": True}
        yield Remedy("Switch them on in this line", (edits.change_line(flags=on),), "check")


def _no_rules(document: Document, finding: Finding, place: DocumentPlace) -> Iterator[Remedy]:
    """A station without rules, in a line whose policy wants some: what passes goes on, as it would elsewhere."""
    if place.station and place.rest == "rules" and "has no rules" in finding.message:
        every = _stations(document)
        keys = [key for key, _each in every]
        following = every[keys.index(place.station) + 1 :]
        to, name = (following[0][0], _name(following[0][1], "name")) if following else ("completed", None)
        rule = {"id": f"{place.station}-passed"[:60], "when": {"result": "success"}, "to": to}
        label = f"Add a rule to {name or end_words(to, '')}"
        yield Remedy(label, (edits.add_rule(place.station, rule),), "plus")


MAKERS = (_unknown_key, _joined, _gone, _knob, _pair, _switched_off, _no_rules)
