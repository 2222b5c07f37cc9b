"""The door to lines: documents in, frozen values and complete documents out, and the hash of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.basics.canonical import CanonicalError, canonical, digest
from pipelines.routing.basics.problems import DocumentError, Malformed, Problem
from pipelines.routing.basics.values import check
from pipelines.routing.document.checks import Check
from pipelines.routing.document.ends import BUILT_IN_ENDS, End
from pipelines.routing.document.fields.field import Around
from pipelines.routing.document.gates import WORDS, Approval, DuePolicy, Gate
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.model import LAW, LINE, REVISION, Line
from pipelines.routing.document.policy import DEFAULT_PRESET, PRESETS, Policy
from pipelines.routing.document.reading.names import Names
from pipelines.routing.document.reading.reader import Problems, Reader
from pipelines.routing.document.reading.work import read_work
from pipelines.routing.document.requirements import Requirement
from pipelines.routing.document.rules import BLOCKED, ORIGIN, Compose, Rule
from pipelines.routing.document.stations import Join, Limits, Station


def read_line(document: Any, *, keep_faulty_rules: bool = False) -> Line:
    """The line that a document says. Raises DocumentError with every problem, in the order of the document.

    With `keep_faulty_rules` a rule whose `when`, `to` or `gates` is faulty does not refuse the document: it
    fails when it is reached (line-document.md, The decision tool).
    """
    plain = dict(document) if isinstance(document, Mapping) else document
    try:
        check(plain, "")
    except Malformed as error:
        raise DocumentError([Problem(error.path, error.message)]) from None
    problems = Problems()
    reader = Reader(plain, "", problems)
    line = LINE.read(reader, _around(reader.given, keep_faulty_rules))
    if problems:
        raise DocumentError(problems.all())
    return line


def _around(document: dict[str, Any], keep: bool) -> Around:
    """The keys of stations, ends and gates and the preset, before anything else is read."""
    ends = dict.fromkeys((*_keys(document, "ends"), *BUILT_IN_ENDS))
    names = Names(
        _keys(document, "stations"),
        tuple(ends),
        _keys(document, "gates"),
        _rules(document),
        _agents(document),
    )
    preset = document.get("preset")
    known = preset if type(preset) is str and preset in PRESETS else DEFAULT_PRESET
    return Around(names, str(known), keep, read_work)


def _rules(document: dict[str, Any]) -> tuple[str, ...]:
    stations = document.get("stations")
    given = stations if type(stations) is list else []
    rules = [each.get("rules") for each in given if type(each) is dict]
    members = [rule for own in rules if type(own) is list for rule in own if type(rule) is dict]
    return tuple(rule["id"] for rule in members if type(rule.get("id")) is str)


def _agents(document: dict[str, Any]) -> dict[str, str]:
    stations = document.get("stations")
    members = [each for each in stations if type(each) is dict] if type(stations) is list else []
    named = ((each.get("key"), each.get("agent")) for each in members)
    return {key: agent for key, agent in named if type(key) is str and type(agent) is str and agent}


def _keys(document: dict[str, Any], part: str) -> tuple[str, ...]:
    members = document.get(part)
    found = [m.get("key") for m in members if type(m) is dict] if type(members) is list else []
    return tuple(key for key in found if type(key) is str)


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
    "Line",
    "Policy",
    "Problem",
    "Requirement",
    "Rule",
    "Station",
    "canonical",
    "digest",
    "read_line",
]
