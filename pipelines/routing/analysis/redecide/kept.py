"""The trace as it is stored: without what can be worked out again from the version and the situation (law §9).

Of rules that were false it keeps how far down the station they reach, which were left out, and how long each took; what
they saw is asked of their conditions when somebody looks. All other entries are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pipelines.routing.analysis.redecide.recorded import again
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.trace import TestedRules, Trace, TraceEntry
from pipelines.routing.document.model import ParsedLine

Json = Mapping[str, Any]
Entry = dict[str, Any]
UNTAKEN = "untaken"
TENTHS = 10_000_000
"""Times are kept as tenths of microseconds."""


def kept(trace: Trace) -> list[Entry]:
    entries: list[Entry] = []
    for part in trace.parts:
        if isinstance(part, TraceEntry):
            entries.append(part.to_dict())
            continue
        if part.untaken:
            entries.append(_untaken(part))
        last = part.last
        if last is not None:
            entries.append(last.to_dict())
    return entries


def _untaken(part: TestedRules) -> Entry:
    entry: Entry = {UNTAKEN: part.reach}
    if part.without:
        entry["without"] = sorted(part.without)
    if part.times:
        entry["took"] = " ".join(str(round(part.took(at) * TENTHS)) for at in range(part.untaken))  # type: ignore[operator]
    return entry


def whole(line: ParsedLine, situation: Json, trace: Sequence[Entry]) -> list[Entry]:
    """The trace with all its entries. What rules saw is left out where today they would not come out so."""
    if not any(UNTAKEN in entry for entry in trace):
        return list(trace)
    # None where they come out otherwise today: only that they were false is told then (law §9).
    again_tested = iter(tested_again(line, situation, trace) or ())
    rules = line.station(situation["station"]).rules
    entries: list[Entry] = []
    for entry in trace:
        if UNTAKEN not in entry:
            entries.append(entry)
            continue
        part = next(again_tested, None)
        made = _shown(part) if part else _bare(entry, [rule.id for rule in rules])
        took = entry["took"].split() if "took" in entry else ()
        entries += [
            {**rule_entry, "took": int(took[at]) / TENTHS} if took else rule_entry
            for at, rule_entry in enumerate(made)
        ]
    return entries


def comes_out_again(line: ParsedLine, situation: Json, trace: Sequence[Json]) -> bool:
    """Return whether the rules that a trace says were false are so today. A trace that was stored whole is
    not tested."""
    return any(map(_is_false_rule, trace)) or tested_again(line, situation, trace) is not None


def _is_false_rule(entry: Json) -> bool:
    return entry.get("step") == "rules" and entry.get("rule") is not None and entry.get("result") is False


def tested_again(line: ParsedLine, situation: Json, trace: Sequence[Json]) -> list[TestedRules] | None:
    """The rules that are false when the decision is made again, if they are those that were."""
    try:
        parts = again(line, situation).trace.parts
    except Malformed:
        return None
    tested_parts = [part for part in parts if isinstance(part, TestedRules) and part.untaken]
    now = [(part.reach, sorted(part.without)) for part in tested_parts]
    then = [(entry[UNTAKEN], entry.get("without", [])) for entry in trace if UNTAKEN in entry]
    return tested_parts if now == then else None


def _shown(part: TestedRules) -> list[Entry]:
    return [entry.to_dict() for entry in islice(part.entries(), part.untaken)]


def _bare(entry: Json, rules: Sequence[str]) -> list[Entry]:
    without = entry.get("without", ())
    tested: Iterator[str] = (rule for rule in rules[: entry[UNTAKEN]] if rule not in without)
    return [TraceEntry("rules", rule, False).to_dict() for rule in tested]
