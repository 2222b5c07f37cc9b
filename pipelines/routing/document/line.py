"""The door to lines: documents in, frozen values and complete documents out, and the hash of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pipelines.routing.basics.canonical import CanonicalError, canonical_digest, canonical_json
from pipelines.routing.basics.problems import DocumentError, Malformed, Problem
from pipelines.routing.basics.values import check_storable
from pipelines.routing.basics.wording import PartName
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.checks import Check
from pipelines.routing.document.document_readers.names import Names
from pipelines.routing.document.document_readers.reader import Problems, Reader
from pipelines.routing.document.ends import BUILT_IN_ENDS, End, end_label
from pipelines.routing.document.fields.field import NOWHERE, ReadContext
from pipelines.routing.document.gates import WORDS, Approval, DuePolicy, Gate
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.model import LAW, LINE, REVISION, ParsedLine
from pipelines.routing.document.policy import DEFAULT_PRESET, PRESETS, Policy
from pipelines.routing.document.requirements import Requirement
from pipelines.routing.document.rules import BLOCKED, ORIGIN, Compose, Rule
from pipelines.routing.document.stations import Join, Limits, Station


def read_line(document: Any, *, keep_faulty_rules: bool = False, revision: int = REVISION) -> ParsedLine:
    """The line that a document says, under this revision of the law. Raises DocumentError with every problem, in the
    order of the document.

    With `keep_faulty_rules` a rule whose `when`, `to` or `gates` is faulty does not refuse the document: it
    fails when it is reached (line-document.md, The decision tool).
    """
    plain = dict(document) if isinstance(document, Mapping) else document
    try:
        # At once for all of it: what no column can hold would fail far from here
        check_storable(plain, "")
    except Malformed as error:
        raise DocumentError([Problem(error.path, error.message)]) from None
    problems = Problems()
    reader = Reader(plain, "", problems)
    line = LINE.read(reader, _reading_context(reader.given, keep_faulty_rules))
    if problems:
        raise DocumentError(problems.all())
    return line if revision == line.revision else replace(line, revision=revision)


def _reading_context(document: dict[str, Any], keep: bool) -> ReadContext:
    """The keys of stations, ends, gates and rules and the preset, before anything else is read."""
    labels = _names_by_key(document, "ends", "label")
    labels.update({key: "" for key in BUILT_IN_ENDS if key not in labels})
    names = Names(
        stations=_names_by_key(document, "stations", "name"),
        ends={key: PartName(key, partial(end_label, key, label)) for key, label in labels.items()},
        gates=_names_by_key(document, "gates", "name"),
        rules=_rule_labels(document),
        agents=_station_agents(document),
    )
    preset = document.get("preset")
    # A preset that is none is reported when its own key is read.
    known = preset if type(preset) is str and preset in PRESETS else DEFAULT_PRESET
    return ReadContext(names, str(known), keep, read_work)


def _rule_labels(document: dict[str, Any]) -> dict[str, object]:
    """Return each rule by its label, else by its number at its station."""
    labels: dict[str, object] = {}
    for station in _document_members(document, "stations"):
        rules = station.get("rules")
        name = _text_or_empty(station, "name") or _text_or_empty(station, "key")
        for number, rule in enumerate(rules if type(rules) is list else (), start=1):
            if type(rule) is dict and type(rule.get("id")) is str:
                label = _text_or_empty(rule, "label") or _(
                    "%(station)s, rule %(number)s", station=name, number=number
                )
                labels[rule["id"]] = label
    return labels


def _station_agents(document: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    pairs = (
        (station.get("key"), (_text_or_empty(station, "agent"), _text_or_empty(station, "second_agent")))
        for station in _document_members(document, "stations")
    )
    return {key: tuple(dict.fromkeys(filter(None, agents))) for key, agents in pairs if type(key) is str}


def _names_by_key(document: dict[str, Any], part: str, naming: str) -> dict[str, str]:
    """Return a name by key: the text of the member under `naming`, else its key."""
    keys = ((member.get("key"), member) for member in _document_members(document, part))
    return {key: _text_or_empty(member, naming) or key for key, member in keys if type(key) is str}


def _document_members(document: dict[str, Any], part: str) -> list[dict[str, Any]]:
    members = document.get(part)
    return [member for member in members if type(member) is dict] if type(members) is list else []


def _text_or_empty(member: dict[str, Any], key: str) -> str:
    value = member.get(key)
    return value if type(value) is str else ""


__all__ = [
    "BLOCKED",
    "BUILT_IN_ENDS",
    "LAW",
    "ORIGIN",
    "PRESETS",
    "REVISION",
    "WORDS",
    "Approval",
    "CanonicalError",
    "Check",
    "Compose",
    "DocumentError",
    "DuePolicy",
    "End",
    "Gate",
    "Input",
    "Join",
    "Limits",
    "ParsedLine",
    "Policy",
    "Problem",
    "Requirement",
    "Rule",
    "Station",
    "canonical_digest",
    "canonical_json",
    "read_line",
]


# Work of a station, read by its kind.


def read_work(reader: Reader) -> dict[str, Any]:
    """The keys of the kinds that exist are checked; other kinds keep theirs as they are."""
    kind = reader.text("kind", required=True, longest=64)
    known = KINDS.get(kind)
    if known is None:
        return reader.given
    known.record.read(reader, NOWHERE)
    return reader.given
