"""Cycles that no budget crosses, and how often a station can be entered at most (law §10).

Bounds of entries by rules, policy and the jumps that the line allows; a person's words and moves by hand come on top.
A jump crosses no budget and is no cycle that somebody drew: only the cap and the limits of its target hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.transitions import LintTransition
from pipelines.routing.decide.budget_usage import MoveTarget, consumes_budget
from pipelines.routing.document.algebra import All, Condition, FailureTypeTest
from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.model import ParsedLine

PATIENCE = 150
"""Rounds of counting in a cycle; the usual cap of 100 visits is reached before."""


def transition_limit_or_none(line: ParsedLine, transition: LintTransition) -> int | None:
    """Return how often the transition can be taken, by its own budgets and those of its target; None: only
    the cap binds."""
    bounds = [_entry_limit_or_none(line, transition)]
    if transition.rule is not None:
        bounds += [transition.rule.max_retries, transition.rule.max_visits]
        free = transition.rule.max_retries is None and transition.rule.max_visits is None
        # `self_loop_limit` binds only a rule that has neither limit of its own (law §4).
        if free and transition.source == transition.target:
            bounds.append(line.policy.self_loop_limit)
    bounds += [
        budget.most
        for budget in line.named_budgets_in_force
        if _does_transition_use_budget(line, budget, transition)
    ]
    limits = [limit for limit in bounds if limit is not None]
    return min(limits) if limits else None


def _does_transition_use_budget(line: ParsedLine, budget: Budget, transition: LintTransition) -> bool:
    """Return whether each use of the transition spends of the named budget, whatever the outcome."""
    rule = transition.rule
    kinds = (_required_failure_types(rule.when) if rule is not None else ()) or (None,)
    rule_id = rule.id if rule is not None else None
    return all(
        consumes_budget(line, budget, MoveTarget(transition.source, transition.target, rule_id, kind))
        for kind in kinds
    )


def _required_failure_types(condition: Condition) -> tuple[str, ...]:
    """The types of failure that the condition needs one of; none where it takes outcomes of any type."""
    if isinstance(condition, FailureTypeTest):
        return condition.types
    if isinstance(condition, All):
        # All members have to hold, so one that needs a type is enough.
        return next((types for member in condition.members if (types := _required_failure_types(member))), ())
    return ()


def _entry_limit_or_none(line: ParsedLine, transition: LintTransition) -> int | None:
    """Return how many entries the target and the revisit policy allow."""
    if transition.target not in line.stations_by_key:
        return 1
    bounds = [line.station(transition.target).limits.max_visits]
    # Revisit limits bind moves by a rule only, and `allow_revisit` overrides them (law §4, §5).
    if transition.rule is not None and transition.rule.allow_revisit is not True:
        if transition.rule.allow_revisit is False or line.policy.forbids_revisits:
            bounds.append(1)
        elif line.policy.revisit_limit is not None:
            # `limit:<n>` counts re-entries: the first entry comes on top (law §4).
            bounds.append(line.policy.revisit_limit + 1)
    return min((limit for limit in bounds if limit is not None), default=None)


def unbounded_cycles(subject: LintSubject) -> list[tuple[str, ...]]:
    """Groups of stations that can be gone round without a budget, each in the order of the line."""
    return _station_cycles(subject.line, _targets_without_limit(subject))


def stations_breaking_unbounded_cycles(subject: LintSubject, station: str) -> tuple[str, ...]:
    """Return the stations that break the unbounded cycles that the station is the first of: once each has a
    limit of visits, no such cycle is left. Those that a task comes back to are chosen first; not always as
    few as would do."""
    after, limited = _targets_without_limit(subject), list[str]()
    group = next((set(cycle) for cycle in _station_cycles(subject.line, after) if cycle[0] == station), set())
    while left := _station_cycles(subject.line, _edges_within(after, group)):
        # The station that tasks come back to first: not always as few as would do, but those that are
        # understood
        limited.append(left[0][0])
        group.discard(left[0][0])
    return tuple(limited)


def _edges_within(after: dict[str, set[str]], group: set[str]) -> dict[str, set[str]]:
    return {key: targets & group for key, targets in after.items() if key in group}


def _targets_without_limit(subject: LintSubject) -> dict[str, set[str]]:
    """Return where each station leads without a budget."""
    after: dict[str, set[str]] = {}
    for transition in _transitions_between_reached_stations(subject):
        if transition_limit_or_none(subject.line, transition) is None:
            after.setdefault(transition.source, set()).add(transition.target)
    return after


def _station_cycles(line: ParsedLine, after: dict[str, set[str]]) -> list[tuple[str, ...]]:
    groups = [g for g in strong_components(after) if len(g) > 1 or g[0] in after.get(g[0], ())]
    return sorted(
        (tuple(sorted(g, key=line.index_of_station)) for g in groups),
        key=lambda g: line.index_of_station(g[0]),
    )


def unbounded_cycle_targets_by_rule(subject: LintSubject) -> dict[str, tuple[str, ...]]:
    """Return the targets that go on round an unbounded cycle, by id of each rule that lies in it."""
    group = {key: at for at, keys in enumerate(unbounded_cycles(subject)) for key in keys}
    targets: dict[str, tuple[str, ...]] = {}
    for transition in _transitions_between_reached_stations(subject):
        inside = transition.source in group and group[transition.source] == group.get(transition.target)
        if (
            inside
            and transition.rule is not None
            and transition_limit_or_none(subject.line, transition) is None
        ):
            targets[transition.rule.id] = (*targets.get(transition.rule.id, ()), transition.target)
    return targets


def _transitions_between_reached_stations(subject: LintSubject) -> list[LintTransition]:
    """Between stations, by rules and policy."""
    return [
        transition
        for transition in subject.transitions
        if transition.by not in ("gate", "jump")
        and transition.source in subject.keys_reached_from_start
        and transition.target in subject.line.stations_by_key
    ]


def max_entries_by_station(subject: LintSubject) -> dict[str, int]:
    """An upper bound of the entries of each station that is reached; the cap where nothing else binds."""
    line = subject.line
    into: dict[str, list[tuple[str, int | None]]] = {}
    after: dict[str, set[str]] = {}
    for transition in _transitions_between_reached_stations(subject):
        into.setdefault(transition.target, []).append(
            (transition.source, transition_limit_or_none(line, transition))
        )
        after.setdefault(transition.source, set()).add(transition.target)
    most = {station.key: 0 for station in line.stations if station.key in subject.keys_reached_from_start}
    for target in line.jump_targets:
        if target in most:
            # A visit is left once, so that it jumps to each place at most once.
            for source in most:
                into.setdefault(target, []).append((source, None))
                after.setdefault(source, set()).add(target)
    after |= {key: set() for key in most if key not in after}
    # Sources before targets: what leads into a group is final when the group is counted.
    for group in reversed(strong_components(after)):
        increase_bounds_until_stable(
            sorted(group, key=line.index_of_station),
            most,
            partial(visit_limit, line),
            lambda key: _max_entry_count(line, key, into.get(key, []), most),
        )
    return most


def increase_bounds_until_stable(
    group: list[str], most: dict[str, int], limit_of: Callable[[str], int], entered_of: Callable[[str], int]
) -> None:
    """Raise `most` until nothing changes within the group, which lies after all that leads into it. What goes on
    growing after PATIENCE rounds is as much as its own limits allow: still an upper bound."""
    rounds = 0
    changing = True
    limits = {key: limit_of(key) for key in group}
    while changing:
        changing, rounds = False, rounds + 1
        for key, limit in limits.items():
            entered = min(entered_of(key), limit)
            if entered > most[key]:
                most[key] = entered if rounds <= PATIENCE else limit
                changing = True


def visit_limit(line: ParsedLine, key: str) -> int:
    """Return how many visits of a station its own limits allow."""
    budget_limits = [
        budget.most
        for budget in line.named_budgets_in_force
        if budget.kind == "station" and key in budget.stations
    ]
    bounds = (line.station(key).limits.max_visits, line.policy.visit_cap, *budget_limits)
    return min(limit for limit in bounds if limit is not None)


def _max_entry_count(
    line: ParsedLine, key: str, ways: list[tuple[str, int | None]], most: dict[str, int]
) -> int:
    total = int(key == line.start)
    return total + sum(most[source] if own is None else min(own, most[source]) for source, own in ways)


def strong_components(after: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected groups, those that others lead to first (Tarjan, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    inside: set[str] = set()
    groups: list[list[str]] = []
    for root in after:
        if root in order:
            continue
        todo = [(root, iter(after[root]))]
        order[root] = low[root] = len(order)
        open_.append(root)
        inside.add(root)
        while todo:
            key, ahead = todo[-1]
            for target in ahead:
                if target not in order:
                    order[target] = low[target] = len(order)
                    open_.append(target)
                    inside.add(target)
                    todo.append((target, iter(after.get(target, ()))))
                    break
                # Outside of the stack lies a group that is closed already.
                if target in inside:
                    low[key] = min(low[key], order[target])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[key])
                if low[key] == order[key]:
                    groups.append(_pop_component(open_, inside, key))
    return groups


def _pop_component(open_: list[str], inside: set[str], key: str) -> list[str]:
    group = []
    while True:
        group.append(open_.pop())
        inside.discard(group[-1])
        if group[-1] == key:
            return group
