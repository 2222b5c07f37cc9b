"""A walk as a guarantee sees it, step by step: its marks, its visits, its moves and its cost. A walk that breaks it
is what refutes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.decisions import DecisionAnswer, Finish, Move, Wait
from pipelines.routing.decide.outcome_judgement import exact_amount, judge_outcome
from pipelines.routing.document.guarantees import Guarantee
from pipelines.routing.document.kinds import failure_eval
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.guarantees.marks import Mark, mark_of_guarantee
from pipelines.routing.guarantees.rule_outcomes import PASSED
from pipelines.routing.guarantees.ways_out import APPROVE
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import SimulatedPosition, SimulatedTask, StepRecord

GATE_STEPS = ("station_gate", "rule_gates")


@dataclass(frozen=True, slots=True)
class TokenPast:
    mark: bool = False
    moves: int = 0


@dataclass(frozen=True, slots=True)
class WatchedWalk:
    """`pasts`: of the living tokens, by their numbers; `broken`: the promise is."""

    pasts: Mapping[int, TokenPast]
    broken: bool = False

    def is_marked(self, token: int) -> bool:
        past = self.pasts.get(token)
        return past.mark if past else False

    def key(self, walk: SimulatedTask) -> tuple[tuple[bool, int], ...]:
        """Key that two walks have in common that promise the same from here on."""
        token_pasts = (
            self.pasts.get(position.token, TokenPast()) for position in walk.positions if not position.is_over
        )
        return tuple((past.mark, past.moves) for past in token_pasts)


class GuaranteeWatch:
    """Check of one guarantee along a walk."""

    def __init__(self, line: ParsedLine, guarantee: Guarantee) -> None:
        self.line, self.guarantee = line, guarantee
        self.mark: Mark | None = mark_of_guarantee(line, guarantee) if guarantee.never else None
        self.most_moves = guarantee.ends_within
        self.most_cost = None if guarantee.cost_at_most is None else Decimal(guarantee.cost_at_most)

    def watched_walk_at_start(self, walk: SimulatedTask) -> WatchedWalk:
        mark = self.mark.is_initially_set if self.mark else False
        at_start = mark and self.mark is not None and self.mark.reach == self.line.start
        start = WatchedWalk({walk.positions[0].token: TokenPast(mark)}, at_start)
        return self._walk_marked_broken_beyond_task_limits(start, walk)

    def watched_walk_after_step(
        self, before: WatchedWalk, walk: SimulatedTask, step: ScenarioStep, record: StepRecord
    ) -> WatchedWalk:
        moved = self._position_of_step_or_none(walk, step)
        if moved is None:
            return replace(before, broken=before.broken or self._exceeds_task_limits(record.walk))
        old = before.pasts.get(moved.token, TokenPast())
        words = self._last_word_by_gate(moved, step, record.decision)
        broken = self._reaches_guarded_gate(old.mark, moved, step, record.decision)
        pasts = dict(before.pasts)
        if isinstance(record.decision, Move | Finish):
            new = self._past_after(old, moved.station, record.decision.passed, words)
            broken = broken or self._enters_guarded(new.mark, moved.station, record.decision)
            pasts.pop(moved.token)
            if isinstance(record.decision, Move):
                pasts |= dict.fromkeys(self._tokens_moved_or_forked(walk, moved, record.decision), new)
            broken = broken or self._exceeds_moves(new)
        pasts, at_joins = self._pasts_and_break_after_joins(pasts, record)
        return self._walk_marked_broken_beyond_task_limits(
            WatchedWalk(pasts, before.broken or broken or at_joins), record.walk
        )

    # One token

    def _position_of_step_or_none(self, walk: SimulatedTask, step: ScenarioStep) -> SimulatedPosition | None:
        living = [position for position in walk.positions if position.is_active]
        at = [position for position in living if step.at is None or position.station == step.at]
        return at[0] if at else None

    def _past_after(self, old: TokenPast, station: str, passed: bool, words: Mapping[str, str]) -> TokenPast:
        mark = self.mark.mark_after(old.mark, station, passed, words) if self.mark else False
        return TokenPast(mark, old.moves + 1 if self.most_moves is not None else 0)

    def _tokens_moved_or_forked(
        self, walk: SimulatedTask, moved: SimulatedPosition, decision: Move
    ) -> list[int]:
        if len(decision.to) == 1:
            return [moved.token]
        # Numbered on in the order of the targets, as `simulate.walk_decisions` does it
        return [walk.tokens + number for number in range(1, len(decision.to) + 1)]

    def _enters_guarded(self, mark: bool, source: str, decision: Move | Finish) -> bool:
        if self.mark is None or not mark:
            return False
        if isinstance(decision, Finish):
            return decision.end == self.mark.reach
        return any(
            to == self.mark.reach and not self.line.does_token_wait_at_join(to, source) for to in decision.to
        )

    def _exceeds_moves(self, past: TokenPast) -> bool:
        return self.most_moves is not None and past.moves > self.most_moves

    def _reaches_guarded_gate(
        self, mark: bool, moved: SimulatedPosition, step: ScenarioStep, decision: DecisionAnswer | None
    ) -> bool:
        """Tell whether the guarded gate is come to with the mark."""
        if self.mark is None or self.mark.reach in self.line.stations_by_key or decision is None:
            return False
        if self.mark.reach not in self.line.gates_by_key:
            return False
        opened = isinstance(decision, Wait) and self.mark.reach in decision.gates
        if not opened and not any(_is_gate_entry(entry, self.mark.reach) for entry in decision.trace):
            return False
        at_station = self.line.station(moved.station).gate == self.mark.reach
        words = {} if at_station else self._station_gate_words(moved, step, decision)
        return self.mark.mark_after(mark, moved.station, self._has_outcome_passed(moved, step), words)

    def _station_gate_words(
        self, moved: SimulatedPosition, step: ScenarioStep, decision: DecisionAnswer
    ) -> dict[str, str]:
        """Words at the gate of the station."""
        key = self.line.station(moved.station).gate
        words = self._last_word_by_gate(moved, step, decision)
        return {key: words[key]} if key in words else {}

    def _last_word_by_gate(
        self, moved: SimulatedPosition, step: ScenarioStep, decision: DecisionAnswer | None
    ) -> dict[str, str]:
        """The last word at each gate on the way, an approval by checks alone among them."""
        words: dict[str, str] = {}
        for entry in decision.trace if decision else ():
            for gate in self.line.gates:
                alone = not gate.has_people and gate.enforces_checks
                if (
                    alone
                    and _is_gate_entry(entry, gate.key)
                    and entry.why == f"{gate.key}: proceed"
                    and entry.result is True
                ):
                    words[gate.key] = APPROVE
        open_review = moved.asked
        if open_review is not None:
            for key, word in {**open_review.situation["facts"].get("gates", {}), **open_review.words}.items():
                words[key] = word["decision"]
        return {**words, **{key: word["decision"] for key, word in step.gates.items()}}

    def _outcome_at_position(self, moved: SimulatedPosition, step: ScenarioStep) -> Mapping[str, Any]:
        if step.kind == "outcome" or moved.asked is None:
            return step.outcome
        outcome: Mapping[str, Any] = moved.asked.situation["outcome"]
        return outcome

    def _has_outcome_passed(self, moved: SimulatedPosition, step: ScenarioStep) -> bool:
        """Tell whether the outcome passed with which the token comes to a gate; `proceed` makes no failed one pass."""
        return outcome_passed(self.line, moved.station, self._outcome_at_position(moved, step))

    # Joins

    def _pasts_and_break_after_joins(
        self, pasts: dict[int, TokenPast], record: StepRecord
    ) -> tuple[dict[int, TokenPast], bool]:
        living = {position.token for position in record.walk.positions if not position.is_over}
        if not record.joined:
            return {token: past for token, past in pasts.items() if token in living}, False
        continuing = _tokens_kept_at_joins(record, pasts)
        gone = [past for token, past in pasts.items() if token not in living or token in continuing]
        if not gone:
            return pasts, False
        marks = [past.mark for past in gone]
        merged = TokenPast(
            self.mark.mark_of_merged_branches(marks) if self.mark else False, max(past.moves for past in gone)
        )
        broken = False
        for join in record.joined:
            # “passed”[:4] is the verdict “pass”.
            entered = join.merge.verdict == PASSED[:4]
            broken = broken or bool(self.mark and entered and merged.mark and join.station == self.mark.reach)
            if isinstance(join.decision, Move | Finish):
                merged = self._past_after(merged, join.station, False, {})
                broken = (
                    broken
                    or self._enters_guarded(merged.mark, join.station, join.decision)
                    or self._exceeds_moves(merged)
                )
        return {
            token: merged if token in continuing else pasts.get(token, merged) for token in living
        }, broken

    # The whole task

    def _walk_marked_broken_beyond_task_limits(
        self, watched: WatchedWalk, walk: SimulatedTask
    ) -> WatchedWalk:
        return replace(watched, broken=watched.broken or self._exceeds_task_limits(walk))

    def _exceeds_task_limits(self, walk: SimulatedTask) -> bool:
        most = self.guarantee.at_most
        if most is not None and walk.visits.get(most.visit, 0) > most.times:
            return True
        return self.most_cost is not None and exact_amount(walk.spent) > self.most_cost


def outcome_passed(line: ParsedLine, key: str, document: Mapping[str, Any]) -> bool:
    """Read the outcome by law §2, once the facts decided (law §13)."""
    station = line.station(key)
    outcome = judge_outcome(line, station, read_outcome(dict(document))).outcome
    return derived_outcome(outcome, failure_eval(station.kind)).outcome_state == PASSED


def _is_gate_entry(entry: Any, gate: str) -> bool:
    return entry.step in GATE_STEPS and str(entry.why).startswith(f"{gate}:")


def _tokens_kept_at_joins(record: StepRecord, pasts: Mapping[int, TokenPast]) -> set[int]:
    """Tokens that keep their number at a join: outside of any fork the first that arrived stands for all."""
    alone = {join.station for join in record.joined if join.merge.fork is None}
    moved_on = {to for join in record.joined if isinstance(join.decision, Move) for to in join.decision.to}
    places = alone | (moved_on if alone else set())
    return {
        position.token
        for position in record.walk.positions
        if position.station in places and position.token in pasts
    }
