"""A whole line from its document, with all problems at once (line-document.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.basics.problems import DocumentError, Malformed, Problem, join
from pipelines.routing.basics.shapes import whole
from pipelines.routing.basics.values import check
from pipelines.routing.document.fields.field import NOWHERE
from pipelines.routing.document.inputs import INPUT
from pipelines.routing.document.model import BUILT_IN_ENDS, LAW, Line
from pipelines.routing.document.reading.budgets import BudgetReader
from pipelines.routing.document.reading.escalations import read_escalations
from pipelines.routing.document.reading.gates import GateReader
from pipelines.routing.document.reading.names import Names, note_twins, read_key, refers
from pipelines.routing.document.reading.needs import read_handoff
from pipelines.routing.document.reading.policy import read_policy, read_preset
from pipelines.routing.document.reading.reader import Problems, Reader, quote
from pipelines.routing.document.reading.rules import RuleReader
from pipelines.routing.document.reading.stations import StationReader, read_end


def read_document(document: Any, *, keep_faulty_rules: bool) -> Line:
    """Raises DocumentError."""
    plain = dict(document) if isinstance(document, Mapping) else document
    try:
        check(plain, "")
    except Malformed as error:
        raise DocumentError([Problem(error.path, error.message)]) from None
    problems = Problems()
    line = _line(Reader(plain, "", problems), keep_faulty_rules)
    if problems:
        raise DocumentError(problems.all())
    return line


def _line(reader: Reader, keep: bool) -> Line:
    _law(reader)
    names = _names(reader.given)
    preset = read_preset(reader)
    key = read_key(reader)
    line = Line(
        key=key,
        name=reader.text("name", key),
        description=reader.text("description"),
        preset=preset,
        policy=read_policy(reader, preset, names),
        flags=reader.one("flags", _flags) or {"agentic_conditions": False},
        start=reader.text("start", names.stations[0] if names.stations else ""),
        inputs=reader.each("inputs", lambda each: INPUT.read(each, NOWHERE)),
        stations=reader.each("stations", StationReader(names, RuleReader(names, keep=keep))),
        gates=reader.each("gates", GateReader(names, preset)),
        ends=reader.each("ends", read_end),
        forbidden_parallel=_pairs(reader, names),
        budgets=reader.each("budgets", BudgetReader(names)),
        escalations=read_escalations(reader),
        handoff=read_handoff(reader),
        extra=reader.object("extra"),
    )
    _check_names(reader, line, names)
    reader.done()
    return line


def _law(reader: Reader) -> None:
    """Absent means 1: a newer number never changes what an older document means."""
    number = reader.raw("gateline", LAW)
    if whole(number) != LAW:
        reader.note("gateline", f"this product knows the semantics number {LAW} only")


def _names(document: dict[str, Any]) -> Names:
    """The keys of stations, ends and gates, before anything else is read."""
    ends = dict.fromkeys((*_keys(document, "ends"), *BUILT_IN_ENDS))
    return Names(_keys(document, "stations"), tuple(ends), _keys(document, "gates"), _rules(document))


def _rules(document: dict[str, Any]) -> tuple[str, ...]:
    stations = document.get("stations")
    given = stations if type(stations) is list else []
    rules = [each.get("rules") for each in given if type(each) is dict]
    members = [rule for own in rules if type(own) is list for rule in own if type(rule) is dict]
    return tuple(rule["id"] for rule in members if type(rule.get("id")) is str)


def _keys(document: dict[str, Any], part: str) -> tuple[str, ...]:
    members = document.get(part)
    found = [m.get("key") for m in members if type(m) is dict] if type(members) is list else []
    return tuple(key for key in found if type(key) is str)


def _flags(reader: Reader) -> dict[str, bool]:
    flags = {"agentic_conditions": reader.flag("agentic_conditions")}
    reader.done()
    return flags


def _pairs(reader: Reader, names: Names) -> tuple[tuple[str, str], ...]:
    pairs = []
    for member, path in reader.members("forbidden_parallel"):
        if type(member) is not list or len(member) != 2 or not all(type(key) is str for key in member):
            reader.problems.note(path, "has to be a pair of stations")
            continue
        for index, station in enumerate(member):
            if station not in names.stations:
                reader.problems.note(join(path, index), f"the line has no station {quote(station)}")
        pairs.append((member[0], member[1]))
    return tuple(pairs)


def _check_names(reader: Reader, line: Line, names: Names) -> None:
    refers(reader, "start", line.start, names.stations, "station")
    if not line.stations and not reader.given.get("stations"):
        reader.note("stations", "a line has at least one station")
    ends = {end.key for end in line.ends} | set(BUILT_IN_ENDS)
    for index, station in enumerate(line.stations):
        if station.key in ends:
            message = f"{quote(station.key)} is an end, and stations and ends share one name space"
            reader.problems.note(f"stations[{index}].key", message)
    note_twins(reader, "stations", [station.key for station in line.stations], "the station")
    note_twins(reader, "gates", [gate.key for gate in line.gates], "the gate")
    note_twins(reader, "ends", [end.key for end in line.ends], "the end")
    note_twins(reader, "inputs", [field.key for field in line.inputs], "the input")
    note_twins(reader, "budgets", [budget.key for budget in line.budgets], "the budget")
    _check_rule_ids(reader, line)


def _check_rule_ids(reader: Reader, line: Line) -> None:
    seen: set[str] = set()
    for s, station in enumerate(line.stations):
        for r, rule in enumerate(station.rules):
            if rule.id and rule.id in seen:
                path = f"stations[{s}].rules[{r}].id"
                reader.problems.note(path, f"the id {quote(rule.id)} appears twice in the line")
            seen.add(rule.id)
