"""Every way out of a station, whatever is reported, said and answered: what `decide` can do, a little more at most.

By rules, by used-up limits, by the policy, by words and checks of gates, by signals and by declared jumps. Each says
what it means for the gates on it. Left out: moves by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.transitions import onward
from pipelines.routing.analysis.regions.rework import demands_rework
from pipelines.routing.decide.steps.gates import JUMP_GATE
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import Line
from pipelines.routing.document.preconditions import GATE_PASSED
from pipelines.routing.document.rules import BLOCKED, Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.guarantees.views import (
    ASKED,
    CHECKED,
    FAILED,
    FALLBACK,
    PASSED,
    PASSED_BY,
    PEOPLE,
    PROCEED,
    RECORDED,
    WORD,
    SeenOutcome,
    can_be,
    reworked,
)

NOT_PASSED = (PASSED_BY, WORD, CHECKED)
APPROVE, REJECT, SEND_BACK, REWORK, ABORT = "approve", "reject", "send_back", "rework", "abort"
Words = Mapping[str, str]
"""Of gates: what certainly was said at them, `approve` where their checks alone let it pass."""


@dataclass(frozen=True)
class WayOut:
    """`target`: a station, an end or `@origin`. `by`: rule, exhausted, policy, gate, signal, jump. `opened`: gates that
    it comes to, each with what was said before. `at`: the gate that sent it there, or the review of a jump."""

    source: str
    target: str
    by: str
    standing: str
    rule: Rule | None = None
    words: Words = field(default_factory=dict)
    opened: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    at: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        rule = self.rule.id if self.rule else ""
        return (
            self.source,
            self.target,
            self.by,
            self.standing,
            rule,
            *sorted(self.words.items()),
            self.opened,
            self.at,
        )


def ways_out(subject: LintSubject) -> dict[str, tuple[WayOut, ...]]:
    """Of every station."""
    line = subject.line
    return {station.key: _distinct(_Ways(line, station, subject).all()) for station in line.stations}


def _distinct(ways: Iterator[WayOut]) -> tuple[WayOut, ...]:
    return tuple({way.key: way for way in ways}.values())


def surely_passed(gate: Gate) -> bool:
    """Whether nothing goes on from it without an approval, or the checks that stand for one."""
    return (gate.has_people and gate.sample is None) or (not gate.has_people and gate.enforces_checks)


class _Ways:
    def __init__(self, line: Line, station: Station, subject: LintSubject) -> None:
        self.line, self.station, self.subject = line, station, subject
        self.gate = line.gate(station.gate) if station.gate else None
        self.rules = [rule for rule in station.rules if rule.fault is None and rule.id not in subject.dead]

    def all(self) -> Iterator[WayOut]:
        yield from self._of_signals()
        yield from self._of_station_gate()
        for seen in self._seen():
            for rule in self.rules:
                if self._can_take(rule, seen):
                    yield from self._of_rule(rule, seen)
        yield from self._of_policy()
        for budget in self.line.named_limits:
            if budget.exhausted_to:
                for standing in (PASSED, FAILED):
                    yield WayOut(self.station.key, budget.exhausted_to, "exhausted", standing)

    # What the rules see

    def _seen(self) -> list[SeenOutcome]:
        first = [*RECORDED, PROCEED, FALLBACK]
        if "fallback" in (self.line.policy.on_failure, self.line.policy.no_match):
            first += [replace(FALLBACK, gate=ASKED), replace(FALLBACK, gate=PEOPLE)]
        if self.gate and REWORK in self.gate.offers:
            first.append(reworked(WORD))
        if self.gate and demands_rework(self.gate):
            first.append(reworked(CHECKED))
        again = []
        for rule in self.rules:
            states = {seen.gate for seen in first if self._can_take(rule, seen)}
            for gate in map(self.line.gate, rule.gates):
                said = [gate.key] if REWORK in gate.offers else []
                for spoken in [*said, *([""] if demands_rework(gate) else [])]:
                    again += [reworked(state, rule.id, spoken) for state in sorted(states)]
        return [*first, *again]

    def _can_take(self, rule: Rule, seen: SeenOutcome) -> bool:
        if rule.id == seen.without or (seen.standing == FAILED and not self.line.policy.failure_rules):
            return False
        if can_be(rule.when, seen) is False:
            return False
        if seen.without:  # of several rules each may have been left out
            return True
        before = self.station.rules[: self.station.rules.index(rule)]
        return not any(each.fault is None and can_be(each.when, seen) is True for each in before)

    def _station_words(self, seen: SeenOutcome) -> dict[str, str]:
        gate = self.gate
        if gate is None or gate.mode == "skip":
            return {}
        if seen.gate == WORD:
            return {gate.key: REWORK}
        if seen.gate == ASKED and surely_passed(gate):
            return {gate.key: APPROVE}
        if seen.gate == PEOPLE and gate.has_people and gate.sample is None:
            return {gate.key: APPROVE}
        return {}

    def _may_go_on(self, target: str, seen: SeenOutcome) -> bool:
        """False of a forward move that waits until the gate of the station was passed (law §8)."""
        if (
            self.gate is None
            or seen.gate not in NOT_PASSED
            or GATE_PASSED not in self.line.requires(self.station.key)
        ):
            return True
        if target in self.line.stations_by_key:
            return (
                self.line.position(target) < self.line.position(self.station.key)
                or target == self.station.key
            )
        return target in self.line.ends_by_key and self.line.end(target).kind != "completed"

    # By rules

    def _of_rule(self, rule: Rule, seen: SeenOutcome) -> Iterator[WayOut]:
        before = self._station_words(seen)
        standing = FAILED if seen.by_gate else seen.standing
        opened = self._opened(before, seen, rule)
        words = dict(before)
        for gate in map(self.line.gate, rule.gates):
            if gate.key == seen.spoken or (seen.gate == WORD and gate.key == self.station.gate):
                words[gate.key] = REWORK
            elif surely_passed(gate):
                words[gate.key] = APPROVE
            elif words.get(gate.key) == APPROVE and gate.mode == "skip":
                words.pop(gate.key)
        if seen.spoken:
            words.setdefault(seen.spoken, REWORK)
            before = {**before, seen.spoken: REWORK}
        for target in rule.to:
            if target != BLOCKED and self._may_go_on(target, seen):
                yield WayOut(self.station.key, target, "rule", standing, rule, words, opened)
        if rule.exhausted_to and self._may_go_on(rule.exhausted_to, seen):
            yield WayOut(self.station.key, rule.exhausted_to, "exhausted", standing, rule, before, opened)
        for gate in map(self.line.gate, rule.gates):
            yield from self._said_at(gate, before, opened, rule)
        if rule.gates:
            yield self._left_there(before, standing, opened)
        if rule.compose or any(demands_rework(self.line.gate(key)) for key in rule.gates):
            yield from self._of_failure(words if rule.compose else before, opened)
            yield from self._of_failure(before, opened)

    def _opened(
        self, before: Words, seen: SeenOutcome, rule: Rule | None
    ) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
        own = ((self.gate.key, ()),) if self.gate and seen.gate != PASSED_BY else ()
        said = tuple(sorted(before.items()))
        return (*own, *((key, said) for key in (rule.gates if rule else ())))

    # At gates

    def _of_station_gate(self) -> Iterator[WayOut]:
        if self.gate is not None:
            for seen in (*RECORDED[:2], PROCEED):
                yield from self._said_at(self.gate, {}, self._opened({}, seen, None), None)
            for seen in RECORDED[:2]:
                yield self._left_there({}, seen.standing, self._opened({}, seen, None))

    def _said_at(
        self,
        gate: Gate,
        before: Words,
        opened: tuple[tuple[str, tuple[tuple[str, str], ...]], ...],
        rule: Rule | None,
    ) -> Iterator[WayOut]:
        if gate.mode == "skip":
            return
        for word in gate.offers:
            for target in self._led_to(gate, word):
                yield WayOut(
                    self.station.key,
                    target,
                    "gate",
                    FAILED,
                    rule,
                    {**before, gate.key: word},
                    opened,
                    gate.key,
                )
        if gate.checks is not None or gate.tool is not None:
            yield WayOut(self.station.key, "failed", "gate", FAILED, rule, before, opened, gate.key)

    def _left_there(
        self, before: Words, standing: str, opened: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    ) -> WayOut:
        """A task that came to gates from which nothing leads on came to them all the same: it ends there when told."""
        return WayOut(self.station.key, "failed", "signal", standing, None, before, opened)

    def _led_to(self, gate: Gate, word: str) -> tuple[str, ...]:
        if word == ABORT:
            return ("failed",)
        if word == SEND_BACK:
            return (self.station.key,)
        if word != REJECT:
            return ()
        knob = gate.on_reject or self.line.policy.on_reject
        if knob == "reviewer_chooses":
            return ("failed", *self.line.stations_by_key)
        if knob == "fail":
            return ("failed",)
        return (self.station.key if knob == "rework" else knob.removeprefix("route:"),)

    # By the policy

    def _of_policy(self) -> Iterator[WayOut]:
        unmatched = self.subject.unmatched
        if (self.station.key, "passed") in unmatched:
            target = onward(self.line, self.station)
            for seen in (RECORDED[0], PROCEED):
                if target is not None:
                    words = self._station_words(seen)
                    opened = self._opened({}, seen, None)
                    yield WayOut(self.station.key, target, "policy", PASSED, None, words, opened)
        if (self.station.key, "failed") in unmatched:
            yield from self._of_failure(self._station_words(RECORDED[1]), self._opened({}, RECORDED[1], None))
        if self.gate is not None and demands_rework(self.gate):
            opened = self._opened({}, RECORDED[1], None)
            yield from self._of_failure({self.gate.key: REWORK}, opened)
            yield from self._of_failure({}, opened)

    def _of_failure(
        self, words: Words, opened: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    ) -> Iterator[WayOut]:
        knob = self.line.policy.on_failure
        target = "failed" if knob == "halt" else knob.removeprefix("station:")
        if knob == "halt" or knob.startswith("station:"):
            yield WayOut(self.station.key, target, "policy", FAILED, None, words, opened)

    # By signals

    def _of_signals(self) -> Iterator[WayOut]:
        for standing in (PASSED, FAILED):
            yield WayOut(self.station.key, "failed", "signal", standing)
            yield WayOut(self.station.key, self.station.key, "signal", standing)
            for target in self.line.promised_jumps:
                yield WayOut(self.station.key, target, "jump", standing)
        if self.line.promised_jumps and self.line.asks_a_person:
            # The review of the jump itself: what is said there leads on as at any gate.
            yield from self._said_at(JUMP_GATE, {}, (), None)
