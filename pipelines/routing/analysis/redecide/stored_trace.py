"""The stored form of a trace, without what can be computed again from the version and the situation (law §9).

Of rules that were false it stores how many were tested, which were left out, and how long each took. What they
saw is computed from their conditions when the trace is displayed. All other entries are stored unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pipelines.routing.analysis.redecide.recorded_decision import decide_again
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.decisions import TestedRules, Trace, TraceEntry
from pipelines.routing.document.model import ParsedLine

Json = Mapping[str, Any]
Entry = dict[str, Any]
UNTAKEN = "untaken"
TENTHS = 10_000_000
"""Times are kept as tenths of microseconds."""


def compact_entries(trace: Trace) -> list[Entry]:
    """Return the entries of the trace in their stored form."""
    entries: list[Entry] = []
    for part in trace.parts:
        if isinstance(part, TraceEntry):
            entries.append(part.to_dict())
            continue
        if part.false_count:
            entries.append(_untaken_entry(part))
        last = part.last_entry_unless_false
        if last is not None:
            entries.append(last.to_dict())
    return entries


def _untaken_entry(part: TestedRules) -> Entry:
    entry: Entry = {UNTAKEN: part.last_false_number}
    if part.without:
        entry["without"] = sorted(part.without)
    if part.times:
        entry["took"] = " ".join(str(round(part.seconds_of(at) * TENTHS)) for at in range(part.false_count))  # type: ignore[operator]
    return entry


def entries_completed_by_retesting(line: ParsedLine, situation: Json, trace: Sequence[Entry]) -> list[Entry]:
    """Return the complete entries of a stored trace. What rules saw is left out where today they would come out
    otherwise."""
    if not any(UNTAKEN in entry for entry in trace):
        return list(trace)
    # None where they come out otherwise today: only that they were false is told then (law §9).
    again_tested = iter(retested_false_rules_or_none(line, situation, trace) or ())
    rules = line.station(situation["station"]).rules
    entries: list[Entry] = []
    for entry in trace:
        if UNTAKEN not in entry:
            entries.append(entry)
            continue
        part = next(again_tested, None)
        made = (
            _entries_of_false_rules(part)
            if part
            else _false_entries_without_operands(entry, [rule.id for rule in rules])
        )
        took = entry["took"].split() if "took" in entry else ()
        entries += [
            {**rule_entry, "took": int(took[at]) / TENTHS} if took else rule_entry
            for at, rule_entry in enumerate(made)
        ]
    return entries


def is_reproducible(line: ParsedLine, situation: Json, trace: Sequence[Json]) -> bool:
    """Return whether the rules that a trace says were false are so today. A trace that was stored whole is
    not tested."""
    return any(map(_is_false_rule, trace)) or retested_false_rules_or_none(line, situation, trace) is not None


def _is_false_rule(entry: Json) -> bool:
    return entry.get("step") == "rules" and entry.get("rule") is not None and entry.get("result") is False


def retested_false_rules_or_none(
    line: ParsedLine, situation: Json, trace: Sequence[Json]
) -> list[TestedRules] | None:
    """The rules that are false when the decision is made again, if they are those that were."""
    try:
        parts = decide_again(line, situation).trace.parts
    except Malformed:
        return None
    tested_parts = [part for part in parts if isinstance(part, TestedRules) and part.false_count]
    now = [(part.last_false_number, sorted(part.without)) for part in tested_parts]
    then = [(entry[UNTAKEN], entry.get("without", [])) for entry in trace if UNTAKEN in entry]
    return tested_parts if now == then else None


def _entries_of_false_rules(part: TestedRules) -> list[Entry]:
    return [entry.to_dict() for entry in islice(part.entries(), part.false_count)]


def _false_entries_without_operands(entry: Json, rules: Sequence[str]) -> list[Entry]:
    without = entry.get("without", ())
    tested: Iterator[str] = (rule for rule in rules[: entry[UNTAKEN]] if rule not in without)
    return [TraceEntry("rules", rule, False).to_dict() for rule in tested]
