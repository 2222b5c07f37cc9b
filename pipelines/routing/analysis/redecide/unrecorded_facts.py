"""Facts that another version reads and that nobody recorded: there it is not decided, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from pipelines.routing.analysis.redecide.gate_walk import RedecidedWalk
from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.decisions import Decision, Stuck
from pipelines.routing.decide.situation import Situation
from pipelines.routing.document.checks import CheckResult
from pipelines.routing.document.gates import JUMP, Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand

MOST_VALUES = 100
"""A counter that nobody kept is tried with so many values at most."""


@dataclass(frozen=True, slots=True)
class UnrecordedFact:
    """`reason` is the code that reports name; `message` a sentence, `about` the keys that it names."""

    reason: str
    message: str
    about: Mapping[str, Any] = field(default_factory=dict)


Again = Callable[[Situation], RedecidedWalk]
Finding = Iterator[UnrecordedFact]


def find_unrecorded(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk, again: Again
) -> UnrecordedFact | None:
    """The first fact that is missing, if one is. `old`: the version that was recorded; `walked`: the walk under
    `new`; `again` walks under it on another situation."""
    # Lazy, and the dearest last: `_missing_counters` decides again for each count that is possible.
    missing_facts = chain(
        _missing_origin(new, situation, walked.last),
        _incomparable_votes(old, new, situation, walked),
        _missing_fields(old, situation, walked),
        _missing_observations(old, new, situation, walked),
        _missing_cost(old, new, situation),
        _missing_counters(old, new, situation, walked, again),
    )
    return next(missing_facts, None)


def _missing_origin(new: ParsedLine, situation: Situation, last: Decision) -> Finding:
    origin = situation.facts.origin
    if origin and isinstance(last, Stuck) and last.error == "NoOrigin" and origin not in new.stations_by_key:
        message = f"It came from {origin}, a station that this version does not have."
        yield UnrecordedFact("origin_gone", message, {"origin": origin})


# People's words


def _incomparable_votes(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Finding:
    """A word is worth what the policy was worth under which it was said."""
    for key in walked.asked:
        # The review of a jump is no gate of the document, and has no policy to compare.
        if key in walked.assumed or key == JUMP:
            continue
        before, now = old.gates_by_key.get(key), new.gate(key)
        word = situation.facts.gates[key].decision
        about = {"gates": (key,), "word": word}
        if before is None or _vote_policy(before) != _vote_policy(now):
            message = f"“{word}” was said at {key} under another approval policy."
            yield UnrecordedFact("other_approval", message, about)
        elif word not in now.offers:
            message = f"“{word}” was said at {key}, which does not offer it any more."
            yield UnrecordedFact("word_not_offered", message, about)


def _vote_policy(gate: Gate) -> object:
    """Return what decides whether a vote counts. How many rounds there are is `decide`'s to read."""
    return replace(gate.approval, max_rounds=0)


# Fields that checks read


def _missing_fields(old: ParsedLine, situation: Situation, walked: RedecidedWalk) -> Finding:
    for result in _check_results(walked):
        if result.saw is MISSING and not _may_be_recorded(result.check.field, old, situation, walked):
            message = f"A check reads {result.check.field}, which the version of that time did not have."
            yield UnrecordedFact("field_not_recorded", message, {"field": result.check.field})


def _may_be_recorded(path: str, old: ParsedLine, situation: Situation, walked: RedecidedWalk) -> bool:
    family, _, name = path.partition(".")
    if family == "input":
        return name in situation.facts.inputs or any(name == line_input.key for line_input in old.inputs)
    if family == "variables":
        return name in situation.facts.variables or name in _composed_variables(old)
    return family != "gates" or name in old.gates_by_key or name in walked.assumed or name == JUMP


def _composed_variables(line: ParsedLine) -> Iterator[str]:
    for station in line.stations:
        for rule in station.rules:
            yield from (entry.var for entry in rule.compose)


# Facts of other stations, and cost


def _missing_observations(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Finding:
    # `observed` is recorded only where a rule or check names other stations (law §13).
    if old.reads_stations or not new.reads_stations:
        return
    paths = (
        observation.path
        for observation in _observations(walked)
        if observation.operand == "fact" and observation.path
    )
    fields = (result.check.field for result in _check_results(walked))
    foreign_path = next((path for path in (*paths, *fields) if "stations" in path), None)
    if foreign_path:
        message = f"{foreign_path} reads other stations, which the version of that time did not."
        yield UnrecordedFact("other_stations_not_recorded", message)


def _missing_cost(old: ParsedLine, new: ParsedLine, situation: Situation) -> Finding:
    cost = situation.outcome.facts.get("usage", {}).get("cost_usd")
    if cost and old.limits.cost_usd is None and new.limits.cost_usd is not None:
        message = (
            "It depends on what the task had cost by then, which the version of that time did not count."
        )
        yield UnrecordedFact("cost_not_recorded", message)


# Counters


def _missing_counters(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk, again: Again
) -> Finding:
    """Yield what is unrecorded of counters: what was counted under a name that is gone may belong to a name
    that is new; decided only where no such count changes anything."""
    names = [*_edge_counters(old, new, situation, walked), *_rule_counters(old, new, situation, walked)]
    if not names:
        return
    counted_names = ", ".join(name for _, name, _ in names)
    message = (
        f"It depends on how often {counted_names} was taken, which was counted under a name that is gone."
    )
    # Of several counters every combination would have to be tried.
    if len(names) > 1 or names[0][2] > MOST_VALUES or _changes_result(situation, walked, names[0], again):
        yield UnrecordedFact(
            "counter_not_recorded", message, {"counters": [counter[:2] for counter in names]}
        )


Counter = tuple[str, str, int]
"""Which counters, the name in it, and how high it can be."""


def _edge_counters(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Iterator[Counter]:
    """Edges that conditions read, to or from a station that the recorded version did not have."""
    counted = situation.facts.edges
    gone = sum(count for edge, count in counted.items() if not _has_edge_ends(new, edge))
    if not gone:
        return
    read = dict.fromkeys(
        observation.path
        for observation in _observations(walked)
        if observation.operand == "edge" and observation.path
    )
    strange = [edge for edge in read if edge not in counted and not _has_edge_ends(old, edge)]
    yield from (("edges", edge, gone) for edge in strange)


def _has_edge_ends(line: ParsedLine, edge: str) -> bool:
    return all(end in line.stations_by_key or end in line.ends_by_key for end in edge.split("->"))


def _rule_counters(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Iterator[Counter]:
    """Rules that the recorded version did not have, where the counter of one of its rules at this station is left
    over; only the budgets of the rule that was taken are read."""
    counted = situation.of_now.facts.rules
    rule_ids = dict.fromkeys(rule for step in walked.steps if (rule := getattr(step, "rule", None)))
    strange = [rule for rule in rule_ids if rule not in counted and rule not in old.rules_by_id]
    here = old.stations_by_key.get(situation.station) if strange else None
    left = [rule.id for rule in here.rules if rule.id not in new.rules_by_id] if here else []
    gone = sum(counted.get(rule, 0) for rule in left)
    yield from (("rules", rule, gone) for rule in strange if gone)


def _changes_result(situation: Situation, walked: RedecidedWalk, counter: Counter, again: Again) -> bool:
    kind, name, most = counter
    for count in range(1, most + 1):
        other = again(_with_count(situation, kind, name, count))
        if (other.effect, other.asked) != (walked.effect, walked.asked):
            return True
    return False


def _with_count(situation: Situation, kind: str, name: str, count: int) -> Situation:
    facts = situation.facts
    if kind == "edges":
        return replace(situation, facts=replace(facts, edges={**facts.edges, name: count}))
    # Budgets of a rule read the counts of the moment, hence `now` (law §5, step 7).
    now = {**facts.now, "rules": {**facts.of_now.rules, name: count}}
    return replace(situation, facts=replace(facts, now=now))


def _check_results(walked: RedecidedWalk) -> Iterator[CheckResult]:
    """Yield what checks of gates saw; no rule has any."""
    for step in walked.steps:
        for entry in step.trace.step_entries:
            yield from (result for result in entry.saw if isinstance(result, CheckResult))


def _observations(walked: RedecidedWalk) -> Iterator[ObservedOperand]:
    for step in walked.steps:
        for entry in step.trace:
            yield from (observation for observation in entry.saw if isinstance(observation, ObservedOperand))
