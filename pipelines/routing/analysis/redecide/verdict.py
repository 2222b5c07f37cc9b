"""Verdict on one recorded decision under another version: same, different, or nobody can know (house §1: by
the very same `decide`, on the same outcome and situation)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from pipelines.routing.analysis.redecide.decided_effect import DecidedEffect, decided_effect
from pipelines.routing.analysis.redecide.gate_walk import RedecidedWalk, walk_gates
from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Stuck, Wait
from pipelines.routing.decide.situation import GateWord, Situation, SituationError, read_situation
from pipelines.routing.document.checks import CheckResult
from pipelines.routing.document.gates import JUMP, Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand


class Verdict(StrEnum):
    """The worst last: of several decisions a task gets the last of theirs."""

    SAME = "same"
    NEWLY_REQUIRED = "gate_newly_required"
    NEWLY_SKIPPED = "gate_newly_skipped"
    UNDECIDABLE = "undecidable"
    DIFFERENT = "different"


WORST_LAST = tuple(Verdict)


@dataclass(frozen=True, slots=True)
class Redecision:
    """`then` and `now`: where it leads, with open gates approved; `now` is None where that cannot be known. `asked` and
    `skipped`: gates at which a person is asked now and was not then, and the other way round. `reason`: a code, where
    the verdict does not say it all; `message`: a sentence; `about`: the keys that it names, `gates`, `assumed`, `word`,
    `origin`, `field`, `counters`, so that people read names."""

    verdict: Verdict
    then: DecidedEffect
    now: DecidedEffect | None = None
    asked: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    reason: str = ""
    message: str = ""
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)


def redecide(
    old: ParsedLine, situation: Mapping[str, Any], answer: Mapping[str, Any], new: ParsedLine
) -> Redecision:
    """`situation` and `answer` as they are stored, `old` the version under which that was. Raises Malformed where the
    situation is none."""
    read = read_situation(situation)
    if read.station not in new.stations_by_key:
        message = f"This version has no station {read.station}."
        return _undecidable_redecision(decided_effect(answer), "station_gone", message)
    then, gate_keys, initial_words = _recorded_effect_asked_gates_and_votes(old, read, answer)
    try:
        now = walk_gates(new, read, initial_words)
        missing = find_unrecorded_fact_or_none(
            old, new, read, now, lambda other: walk_gates(new, other, initial_words)
        )
    except SituationError as fault:
        return _undecidable_redecision(
            then, "word_does_not_fit", f"What was said there does not fit: {fault}."
        )
    if missing:
        return _undecidable_redecision(then, missing.reason, missing.message, missing.about)
    return _redecision_of_effects(then, gate_keys, now, read)


def _recorded_effect_asked_gates_and_votes(
    old: ParsedLine, situation: Situation, answer: Mapping[str, Any]
) -> tuple[DecidedEffect, tuple[str, ...], dict[str, GateWord]]:
    """Return where the decision led, whom it asked, and the votes that count although nobody is asked on the
    way."""
    words = situation.facts.gates
    if not words and answer.get("status") != "awaiting_review":
        return decided_effect(answer), (), {}
    walked = walk_gates(old, situation)
    # Another branch may have used up a budget between question and word: then the question does not come up again.
    initial_words = {key: word for key, word in words.items() if key not in walked.asked}
    if initial_words:
        walked = walk_gates(old, situation, initial_words)
    return walked.effect, walked.asked, initial_words


def _redecision_of_effects(
    then: DecidedEffect, before: tuple[str, ...], redecided_walk: RedecidedWalk, situation: Situation
) -> Redecision:
    newly_required = tuple(key for key in redecided_walk.asked if key not in before)
    skipped = tuple(key for key in before if key not in redecided_walk.asked)
    effect = redecided_walk.effect
    if effect != then:
        unknown = _undecidable_reason_or_none(redecided_walk, situation, skipped)
        if unknown:
            return _undecidable_redecision(then, *unknown)
        return Redecision(
            Verdict.DIFFERENT, then, effect, newly_required, skipped, *_reason_and_message_of_difference(then)
        )
    if newly_required and skipped:
        gates, previous = _joined_keys(newly_required), _joined_keys(skipped)
        message = f"The same way, but other people are asked: {gates} instead of {previous}."
        return Redecision(Verdict.DIFFERENT, then, effect, newly_required, skipped, "other_gates", message)
    if newly_required:
        message = f"Somebody is asked at {_joined_keys(newly_required)}, which nobody was then."
        return Redecision(Verdict.NEWLY_REQUIRED, then, effect, newly_required, (), "", message)
    if skipped:
        message = f"Nobody is asked at {_joined_keys(skipped)} any more."
        return Redecision(Verdict.NEWLY_SKIPPED, then, effect, (), skipped, "", message)
    return Redecision(Verdict.SAME, then, effect)


Unknown = tuple[str, str, Mapping[str, Any]]
"""Reason, message and what it is about."""


def _undecidable_reason_or_none(
    redecided_walk: RedecidedWalk, situation: Situation, skipped: tuple[str, ...]
) -> Unknown | None:
    """Return why nobody can know where the decision would have led: a person or an evaluation that was never
    asked would decide it."""
    if isinstance(redecided_walk.last_decision, Ask):
        return "not_answered", "It depends on an evaluation that was not asked then.", {}
    # These gates still wait although they have a word: `decide` did not accept it.
    if (
        isinstance(redecided_walk.last_decision, Wait)
        and redecided_walk.last_decision.status == "awaiting_review"
    ):
        message = f"What was said at {_joined_keys(redecided_walk.last_decision.gates)} would be refused now."
        return "word_refused", message, {"gates": redecided_walk.last_decision.gates}
    against = [key for key in skipped if _is_word_against(situation.facts.gates.get(key))]
    # The walk assumed an approval; whoever objected then might have objected there.
    if redecided_walk.assumed and against:
        gates, assumed = _joined_keys(against), _joined_keys(redecided_walk.assumed)
        message = f"{gates} decided it then; now {assumed} is asked, where nobody has spoken."
        return "nobody_has_spoken", message, {"gates": against, "assumed": redecided_walk.assumed}
    return None


def _is_word_against(word: GateWord | None) -> bool:
    return word is not None and word.decision not in (None, "approve")


def _reason_and_message_of_difference(then: DecidedEffect) -> tuple[str, str]:
    if then.kind == "ask":
        return "not_asked", "An evaluation was asked then; now it is decided without."
    return "", ""


def _undecidable_redecision(
    then: DecidedEffect, reason: str, message: str, about: Mapping[str, Any] | None = None
) -> Redecision:
    return Redecision(Verdict.UNDECIDABLE, then, None, (), (), reason, message, about or {})


def _joined_keys(keys: tuple[str, ...] | list[str]) -> str:
    return ", ".join(keys)


# Facts that another version reads and that nobody recorded: there it is not decided, never guessed.


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


def find_unrecorded_fact_or_none(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk, again: Again
) -> UnrecordedFact | None:
    """The first fact that is missing, if one is. `old`: the version that was recorded; `walked`: the walk under
    `new`; `again` walks under it on another situation."""
    # Lazy, and the dearest last: `_findings_on_unrecorded_counters` decides again for each count that is possible.
    missing_facts = chain(
        _findings_on_unrecorded_origin(new, situation, walked.last_decision),
        _incomparable_votes(old, new, situation, walked),
        _findings_on_unrecorded_check_fields(old, situation, walked),
        _findings_on_unrecorded_observations(old, new, situation, walked),
        _findings_on_unrecorded_cost(old, new, situation),
        _findings_on_unrecorded_counters(old, new, situation, walked, again),
    )
    return next(missing_facts, None)


def _findings_on_unrecorded_origin(new: ParsedLine, situation: Situation, last: DecisionAnswer) -> Finding:
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
        if before is None or _approval_without_round_limit(before) != _approval_without_round_limit(now):
            message = f"“{word}” was said at {key} under another approval policy."
            yield UnrecordedFact("other_approval", message, about)
        elif word not in now.offers:
            message = f"“{word}” was said at {key}, which does not offer it any more."
            yield UnrecordedFact("word_not_offered", message, about)


def _approval_without_round_limit(gate: Gate) -> object:
    """Return what decides whether a vote counts. How many rounds there are is `decide`'s to read."""
    return replace(gate.approval, max_rounds=0)


# Fields that checks read


def _findings_on_unrecorded_check_fields(
    old: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Finding:
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


def _findings_on_unrecorded_observations(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Finding:
    # `observed` is recorded only where a rule or check names other stations (law §13).
    if old.reads_stations or not new.reads_stations:
        return
    paths = (
        observation.path
        for observation in _observed_operands(walked)
        if observation.operand == "fact" and observation.path
    )
    fields = (result.check.field for result in _check_results(walked))
    foreign_path = next((path for path in (*paths, *fields) if "stations" in path), None)
    if foreign_path:
        message = f"{foreign_path} reads other stations, which the version of that time did not."
        yield UnrecordedFact("other_stations_not_recorded", message)


def _findings_on_unrecorded_cost(old: ParsedLine, new: ParsedLine, situation: Situation) -> Finding:
    cost = situation.outcome.facts.get("usage", {}).get("cost_usd")
    if cost and old.limits.cost_usd is None and new.limits.cost_usd is not None:
        message = (
            "It depends on what the task had cost by then, which the version of that time did not count."
        )
        yield UnrecordedFact("cost_not_recorded", message)


# Counters


def _findings_on_unrecorded_counters(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk, again: Again
) -> Finding:
    """Yield what is unrecorded of counters: what was counted under a name that is gone may belong to a name
    that is new; decided only where no such count changes anything."""
    names = [
        *_new_edges_with_leftover_counts(old, new, situation, walked),
        *_new_rules_with_leftover_counts(old, new, situation, walked),
    ]
    if not names:
        return
    counted_names = ", ".join(name for _, name, _ in names)
    message = (
        f"It depends on how often {counted_names} was taken, which was counted under a name that is gone."
    )
    # Of several counters every combination would have to be tried.
    if (
        len(names) > 1
        or names[0][2] > MOST_VALUES
        or _would_count_change_result(situation, walked, names[0], again)
    ):
        yield UnrecordedFact(
            "counter_not_recorded", message, {"counters": [counter[:2] for counter in names]}
        )


Counter = tuple[str, str, int]
"""Which counters, the name in it, and how high it can be."""


def _new_edges_with_leftover_counts(
    old: ParsedLine, new: ParsedLine, situation: Situation, walked: RedecidedWalk
) -> Iterator[Counter]:
    """Edges that conditions read, to or from a station that the recorded version did not have."""
    counted = situation.facts.edges
    gone = sum(count for edge, count in counted.items() if not _has_edge_ends(new, edge))
    if not gone:
        return
    read = dict.fromkeys(
        observation.path
        for observation in _observed_operands(walked)
        if observation.operand == "edge" and observation.path
    )
    strange = [edge for edge in read if edge not in counted and not _has_edge_ends(old, edge)]
    yield from (("edges", edge, gone) for edge in strange)


def _has_edge_ends(line: ParsedLine, edge: str) -> bool:
    return all(end in line.stations_by_key or end in line.ends_by_key for end in edge.split("->"))


def _new_rules_with_leftover_counts(
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


def _would_count_change_result(
    situation: Situation, walked: RedecidedWalk, counter: Counter, again: Again
) -> bool:
    kind, name, most = counter
    for count in range(1, most + 1):
        other = again(_situation_with_count(situation, kind, name, count))
        if (other.effect, other.asked) != (walked.effect, walked.asked):
            return True
    return False


def _situation_with_count(situation: Situation, kind: str, name: str, count: int) -> Situation:
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


def _observed_operands(walked: RedecidedWalk) -> Iterator[ObservedOperand]:
    for step in walked.steps:
        for entry in step.trace:
            yield from (observation for observation in entry.saw if isinstance(observation, ObservedOperand))
