"""Verdict on one recorded decision under another version: same, different, or nobody can know (house §1: by
the very same `decide`, on the same outcome and situation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pipelines.routing.analysis.redecide.effects import DecidedEffect, effect_of
from pipelines.routing.analysis.redecide.gate_walk import RedecidedWalk, walk_gates
from pipelines.routing.analysis.redecide.unrecorded_facts import find_unrecorded
from pipelines.routing.decide.decisions import Ask, Wait
from pipelines.routing.decide.situation import GateWord, Situation, SituationError, read_situation
from pipelines.routing.document.model import ParsedLine


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
        return _undecidable(effect_of(answer), "station_gone", message)
    then, gate_keys, initial_words = _recorded_effect(old, read, answer)
    try:
        now = walk_gates(new, read, initial_words)
        missing = find_unrecorded(old, new, read, now, lambda other: walk_gates(new, other, initial_words))
    except SituationError as fault:
        return _undecidable(then, "word_does_not_fit", f"What was said there does not fit: {fault}.")
    if missing:
        return _undecidable(then, missing.reason, missing.message, missing.about)
    return _compare_effects(then, gate_keys, now, read)


def _recorded_effect(
    old: ParsedLine, situation: Situation, answer: Mapping[str, Any]
) -> tuple[DecidedEffect, tuple[str, ...], dict[str, GateWord]]:
    """Return where the decision led, whom it asked, and the votes that count although nobody is asked on the
    way."""
    words = situation.facts.gates
    if not words and answer.get("status") != "awaiting_review":
        return effect_of(answer), (), {}
    walked = walk_gates(old, situation)
    # Another branch may have used up a budget between question and word: then the question does not come up again.
    initial_words = {key: word for key, word in words.items() if key not in walked.asked}
    if initial_words:
        walked = walk_gates(old, situation, initial_words)
    return walked.effect, walked.asked, initial_words


def _compare_effects(
    then: DecidedEffect, before: tuple[str, ...], now: RedecidedWalk, situation: Situation
) -> Redecision:
    newly_required = tuple(key for key in now.asked if key not in before)
    skipped = tuple(key for key in before if key not in now.asked)
    effect = now.effect
    if effect != then:
        unknown = _undecidable_reason(now, situation, skipped)
        if unknown:
            return _undecidable(then, *unknown)
        return Redecision(Verdict.DIFFERENT, then, effect, newly_required, skipped, *_difference_reason(then))
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


def _undecidable_reason(now: RedecidedWalk, situation: Situation, skipped: tuple[str, ...]) -> Unknown | None:
    """Return why nobody can know where the decision would have led: a person or an evaluation that was never
    asked would decide it."""
    if isinstance(now.last, Ask):
        return "not_answered", "It depends on an evaluation that was not asked then.", {}
    # These gates still wait although they have a word: `decide` did not accept it.
    if isinstance(now.last, Wait) and now.last.status == "awaiting_review":
        message = f"What was said at {_joined_keys(now.last.gates)} would be refused now."
        return "word_refused", message, {"gates": now.last.gates}
    against = [key for key in skipped if _is_objection(situation.facts.gates.get(key))]
    # The walk assumed an approval; whoever objected then might have objected there.
    if now.assumed and against:
        gates, assumed = _joined_keys(against), _joined_keys(now.assumed)
        message = f"{gates} decided it then; now {assumed} is asked, where nobody has spoken."
        return "nobody_has_spoken", message, {"gates": against, "assumed": now.assumed}
    return None


def _is_objection(word: GateWord | None) -> bool:
    return word is not None and word.decision not in (None, "approve")


def _difference_reason(then: DecidedEffect) -> tuple[str, str]:
    if then.kind == "ask":
        return "not_asked", "An evaluation was asked then; now it is decided without."
    return "", ""


def _undecidable(
    then: DecidedEffect, reason: str, message: str, about: Mapping[str, Any] | None = None
) -> Redecision:
    return Redecision(Verdict.UNDECIDABLE, then, None, (), (), reason, message, about or {})


def _joined_keys(keys: tuple[str, ...] | list[str]) -> str:
    return ", ".join(keys)
