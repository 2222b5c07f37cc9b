"""Cycles that no budget crosses, and how often a station can be entered at most (semantics §10).

Bounds of entries by rules and policy; a person's words, jumps and moves by hand come on top.
"""

from __future__ import annotations

from pipelines.routing.lint.subject import Subject, spread
from pipelines.routing.lint.ways import Way
from pipelines.routing.model import Line


def bound(line: Line, way: Way) -> int | None:
    """How often the way can be gone, by its own budgets and those of its target; None: only the cap binds."""
    bounds = [_entries(line, way)]
    if way.rule is not None:
        bounds += [way.rule.max_retries, way.rule.max_visits]
        free = way.rule.max_retries is None and way.rule.max_visits is None
        if free and way.source == way.target:
            bounds.append(line.policy.self_loop_limit)
    given = [each for each in bounds if each is not None]
    return min(given) if given else None


def _entries(line: Line, way: Way) -> int | None:
    """What the target and the revisit policy allow."""
    if way.target not in line.stations_by_key:
        return 1
    bounds = [line.station(way.target).limits.max_visits]
    if way.rule is not None and way.rule.allow_revisit is not True:
        if way.rule.allow_revisit is False or line.policy.forbids_revisits:
            bounds.append(1)
        elif line.policy.revisit_limit is not None:
            bounds.append(line.policy.revisit_limit + 1)
    return min((each for each in bounds if each is not None), default=None)


def unbounded_cycles(subject: Subject) -> list[tuple[str, ...]]:
    """Groups of stations that can be gone round without a budget, each in the order of the line."""
    free = [(w.source, w.target) for w in _moves(subject) if bound(subject.line, w) is None]
    ahead = {source for source, _ in free}
    found: list[tuple[str, ...]] = []
    grouped: set[str] = set()
    for station in subject.line.stations:
        key = station.key
        if key in ahead and key not in grouped:
            group = _round(key, free, subject.line)
            grouped |= set(group)
            found += [group] if group else []
    return found


def _round(key: str, free: list[tuple[str, str]], line: Line) -> tuple[str, ...]:
    """The stations that lie with this one on a cycle; none if it is on none."""
    first = {target for source, target in free if source == key}
    forth = spread(first, free)
    if key not in forth:
        return ()
    back = spread({key}, [(target, source) for source, target in free])
    return tuple(each.key for each in line.stations if each.key in forth & back)


def _moves(subject: Subject) -> list[Way]:
    return [w for w in subject.ways if w.by != "gate" and w.source in subject.reached]


def worst_visits(subject: Subject) -> dict[str, int]:
    """An upper bound of the entries of each station that is reached; the cap where nothing else binds."""
    line = subject.line
    into: dict[str, list[Way]] = {}
    out: dict[str, list[str]] = {}
    for way in _moves(subject):
        if way.target in line.stations_by_key:
            into.setdefault(way.target, []).append(way)
            out.setdefault(way.source, []).append(way.target)
    most = {station.key: 0 for station in line.stations if station.key in subject.reached}
    todo = [key for key in most if key == line.start]
    while todo:
        key = todo.pop()
        entered = _entered(line, key, into.get(key, []), most)
        if entered > most[key]:
            most[key] = entered
            todo.extend(out.get(key, ()))
    return most


def _entered(line: Line, key: str, ways: list[Way], most: dict[str, int]) -> int:
    total = int(key == line.start)
    for way in ways:
        own = bound(line, way)
        total += most[way.source] if own is None else min(own, most[way.source])
    limit = line.station(key).limits.max_visits
    return min(total, line.policy.visit_cap, line.policy.visit_cap if limit is None else limit)
