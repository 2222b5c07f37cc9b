"""Remedies for faults of the document itself, by path: a reference to a missing part, a key that nobody
reads, a switch that is off. A document that is no line yet has only such findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.document.ends import end_label
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.join_fixes import wait_for_all_remedy
from pipelines.web.editor.fixes.remedies import Remedy
from pipelines.web.lines.document_paths import path_parts

Document = Mapping[str, Any]
AN_UNKNOWN_KEY = "unknown key"


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """Parts that a path of a document leads through; None where it names no such part. `rest`: the remainder
    of the path."""

    station: str | None = None
    rule: str | None = None
    gate: str | None = None
    rest: str = ""


def document_place(document: Document, path: str) -> DocumentPlace:
    """Station, rule and gate by name, if they have one."""
    parts = path_parts(document, path)
    if parts.what == "gates":
        return DocumentPlace(gate=_text_or_none(parts.member, "key"), rest=parts.rest)
    return DocumentPlace(
        station=_text_or_none(parts.member, "key"), rule=_text_or_none(parts.rule, "id"), rest=parts.rest
    )


def _text_or_none(member: Document, key: str) -> str | None:
    name = member.get(key)
    return name if isinstance(name, str) else None


def path_remedies(document: Document, finding: Finding) -> list[Remedy]:
    """Return the remedies for a finding of not-publishable."""
    place = document_place(document, finding.path)
    return [remedy for make in MAKERS for remedy in make(document, finding, place)]


def _unknown_key_remedies(
    document: Document, finding: Finding, document_place: DocumentPlace
) -> Iterator[Remedy]:
    """Not inside of conditions, checks and work: there a person looks."""
    key = document_place.rest
    # A path that leads deeper, such as `work.foo`, is no identifier.
    if finding.message != AN_UNKNOWN_KEY or not key or not key.isidentifier():
        return
    label = f"Remove “{key}”"
    edit = _unset_edit_or_none(document_place, key)
    if edit:
        yield Remedy(label, (edit,), "x")


def _unset_edit_or_none(document_place: DocumentPlace, key: str, **changed: Any) -> edits.Edit | None:
    if document_place.rule:
        return edits.edit_changing_rule(document_place.rule, key, **changed)
    if document_place.station:
        return edits.edit_changing_station(document_place.station, key, **changed)
    if document_place.gate:
        return edits.edit_changing_gate(document_place.gate, key, **changed)
    return edits.edit_changing_line(key, **changed)


def _missing_part_remedies(
    document: Document, finding: Finding, document_place: DocumentPlace
) -> Iterator[Remedy]:
    """Yield the removal of a key that leads to, or waits for, a part that no longer exists."""
    for pattern, key, label in GONE:
        if key == "join" and _join_sources(document, document_place):
            # Without it the branches that lead there would meet at a station that waits for none.
            continue
        if re.fullmatch(pattern, document_place.rest) and finding.message != AN_UNKNOWN_KEY:
            edit = _unset_edit_or_none(document_place, key)
            if edit:
                yield Remedy(label, (edit,), "x")


# Pattern of the rest of the path, the key that is removed, and the words of the button
GONE = (
    (r"on_exhausted\.to", "on_exhausted", "Leave what happens then to the line's policy"),
    (r"gate", "gate", "Take the gate off the station"),
    (r"join(\..*)?", "join", "Remove the join"),
    (r"start", "start", "Start at the first station"),
    (r"on_reject", "on_reject", "Leave rejections to the line's policy"),
)


def _missing_join_remedies(
    document: Document, finding: Finding, document_place: DocumentPlace
) -> Iterator[Remedy]:
    """A join that waits for a station that was deleted: for those instead that lead to it."""
    leading = _join_sources(document, document_place)
    if document_place.station and leading:
        join = dict(_stations_with_paths(document))[document_place.station].get("join")
        yield wait_for_all_remedy(document_place.station, join, leading)


def _join_sources(document: Document, document_place: DocumentPlace) -> list[str]:
    """Return the stations that lead to a join, if there are several and the join names a missing station."""
    if not document_place.station or not re.fullmatch(r"join\.wait_for\[\d+\]", document_place.rest):
        return []
    sources = [
        key
        for key, station in _stations_with_paths(document)
        if document_place.station in _target_keys(station)
    ]
    return sources if len(sources) > 1 and document_place.station not in sources else []


def _stations_with_paths(document: Document) -> list[tuple[str, Document]]:
    stations = document.get("stations")
    members = stations if isinstance(stations, list) else []
    return [
        (name, member)
        for member in members
        if isinstance(member, dict) and (name := _text_or_none(member, "key"))
    ]


def _target_keys(station: Document) -> set[str]:
    rules = station.get("rules")
    targets: set[str] = set()
    for rule in rules if isinstance(rules, list) else []:
        to = rule.get("to") if isinstance(rule, dict) else None
        targets |= {target for target in (to if isinstance(to, list) else [to]) if isinstance(target, str)}
    return targets


def _policy_remedies(document: Document, finding: Finding, document_place: DocumentPlace) -> Iterator[Remedy]:
    match = re.fullmatch(r"policy\.(\w+)", document_place.rest)
    policy = document.get("policy")
    if match and isinstance(policy, dict) and match[1] in policy:
        remaining = {key: value for key, value in policy.items() if key != match[1]}
        label = "Use the preset"
        yield Remedy(label, (edits.edit_changing_line(policy=remaining),), "x")


def _pair_remedies(document: Document, finding: Finding, document_place: DocumentPlace) -> Iterator[Remedy]:
    match = re.match(r"forbidden_parallel\[(\d+)\]", document_place.rest)
    pairs = document.get("forbidden_parallel")
    if match and isinstance(pairs, list):
        remaining = [pair for index, pair in enumerate(pairs) if index != int(match[1])]
        label = "Remove the pair"
        yield Remedy(label, (edits.edit_changing_line(forbidden_parallel=remaining),), "x")


def _flag_remedies(document: Document, finding: Finding, document_place: DocumentPlace) -> Iterator[Remedy]:
    if document_place.rest == "when" and "switched off" in finding.message:
        flags = document.get("flags")
        on = {**(flags if isinstance(flags, dict) else {}), "agentic_conditions": True}
        yield Remedy("Switch them on in this line", (edits.edit_changing_line(flags=on),), "check")


def _no_rules_remedies(
    document: Document, finding: Finding, document_place: DocumentPlace
) -> Iterator[Remedy]:
    """A station without rules, in a line whose policy wants some: what passes goes on, as it would elsewhere."""
    if document_place.station and document_place.rest == "rules" and "has no rules" in finding.message:
        every = _stations_with_paths(document)
        keys = [key for key, _document in every]
        following = every[keys.index(document_place.station) + 1 :]
        to, name = (
            (following[0][0], _text_or_none(following[0][1], "name")) if following else ("completed", None)
        )
        rule = {"id": f"{document_place.station}-passed"[:60], "when": {"result": "success"}, "to": to}
        label = f"Add a rule to {name or end_label(to, '')}"
        yield Remedy(label, (edits.edit_adding_rule(document_place.station, rule),), "plus")


# In the order in which the remedies are offered
MAKERS = (
    _unknown_key_remedies,
    _missing_join_remedies,
    _missing_part_remedies,
    _policy_remedies,
    _pair_remedies,
    _flag_remedies,
    _no_rules_remedies,
)
