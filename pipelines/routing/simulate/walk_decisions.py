"""Consequences of an outcome in a walk: decided by the very same `decide`, counted by the very same `consequences`
as in production."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.redecide.recorded_decision import answer_without_trace, decide_again
from pipelines.routing.basics import jsontext
from pipelines.routing.decide import effects
from pipelines.routing.decide.branch_joins.branches import Fork, Write
from pipelines.routing.decide.branch_joins.join_decision import PASS
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Ask, Escalate, Wait
from pipelines.routing.decide.effects import DecisionSubject
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.decide.situation import assumed_preconditions, read_situation
from pipelines.routing.decide.transitions import (
    TokenPlace,
    Transition,
    decision_transition,
    gate_that_rejected_same_content_or_empty,
    rerun_transition,
)
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate import joins, walk_escalations
from pipelines.routing.simulate.state import (
    HELD,
    REVIEW,
    OpenReview,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
)


def new_situation(
    line: ParsedLine,
    walk: SimulatedTask,
    index: int,
    outcome: Mapping[str, Any],
    missing: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The situation of an outcome that nothing was decided about yet."""
    situation = walk.build_situation(line, index, outcome)
    situation["facts"]["preconditions"] = assumed_preconditions(line, situation["station"], outcome, missing)
    return situation


def apply_decision(
    line: ParsedLine,
    walk: SimulatedTask,
    index: int,
    situation: dict[str, Any],
    word: str = "",
    asked_rule: str | None = None,
) -> StepRecord:
    # The clock counts decisions, and orders writes, arrivals and forks.
    walk = replace(walk, clock=walk.clock + 1)
    position = walk.positions[index]
    read = read_situation(situation)
    decision = decide(line, read)
    outcome = judge_outcome(line, line.station(read.station), read.outcome, read.facts.spent).outcome
    about = DecisionSubject(
        line, position.station, position.origin, outcome, word, asked_rule, unreadable=walk.unreadable
    )
    place = TokenPlace(line, position.station, position.origin, position.signal_reworks, walk.clock)
    change = decision_transition(about, decision, place)
    walk, rules = walk.with_changes(change), tuple(change.count.get("rules", ()))
    entered: tuple[str, ...] = ()
    if change.entries:
        walk, new = _walk_and_entered_positions(walk, index, change)
        entered = tuple(new_position.station for new_position in new if new_position.arrival is None)
    elif change.ended is not None:
        walk = walk.with_end(change.ended, index)
    elif isinstance(decision, Escalate):
        walk = _follow_escalation(line, walk, index, situation, decision)
    else:
        walk = walk.with_position(index, _stay_position(line, walk, position, situation, decision))
    return record_with_all_joins_decided(line, StepRecord(walk, position.station, decision, entered, rules))


def _walk_and_entered_positions(
    walk: SimulatedTask, index: int, change: Transition
) -> tuple[SimulatedTask, tuple[SimulatedPosition, ...]]:
    """A token keeps its number; those that it forks into have new ones, and a join may give it back."""
    old, entries, values = walk.positions[index], change.entries, change.stored["context"]
    own: dict[str, Any] = {"wrote": (*old.wrote, Write(walk.clock, values))} if values else {}
    if len(entries) == 1:
        new: tuple[SimulatedPosition, ...] = (old.moved_to_station(entries[0], **own),)
    else:
        own["within"] = (
            *old.within,
            Fork(walk.clock, old.station, tuple(entry.station for entry in entries)),
        )
        new = tuple(
            old.moved_to_station(entry, **own, token=walk.tokens + n) for n, entry in enumerate(entries, 1)
        )
        walk = replace(walk, tokens=walk.tokens + len(new), forked={**walk.forked, walk.clock: old.token})
    positions = (*walk.positions[:index], *new, *walk.positions[index + 1 :])
    return walk_escalations.walk_with_work_paused_or_resumed(replace(walk, positions=positions)), new


def record_with_all_joins_decided(line: ParsedLine, record: StepRecord) -> StepRecord:
    """Decide every join that can be decided by now; what is no pass is routed at once."""
    # Once more after each merge: its token may complete another join.
    while any(position.arrival for position in record.walk.positions):
        merged = joins.merge_next_join_into_record_and_index_or_none(line, record.walk)
        if merged is None:
            break
        there, index = merged
        [join] = there.joined
        if join.merge.verdict != PASS:
            then = apply_decision(
                line, there.walk, index, new_situation(line, there.walk, index, join.merge.outcome())
            )
            decisions = (replace(join, decision=then.decision), *then.joined)
            there = replace(then, entered=(*there.entered, *then.entered), joined=decisions, decision=None)
        record = record.with_consequence(there)
    return record


def _follow_escalation(
    line: ParsedLine, walk: SimulatedTask, index: int, situation: dict[str, Any], decision: Escalate
) -> SimulatedTask:
    """Held until somebody of the role resolves it; nobody is told twice of the same."""
    position = walk.positions[index]
    same = (position.token, decision.trigger)
    escalation = next(
        (candidate for candidate in walk.escalations if (candidate.token, candidate.trigger) == same), None
    )
    if escalation is None:
        role, rule = decision.role or "", decision.rule or ""
        walk, escalation = walk_escalations.walk_with_escalation_and_escalation(
            line, walk, decision.trigger, index, role=role, rule=rule
        )
    stayed = _stay_position(line, walk, position, situation, decision)
    return walk.with_position(index, replace(stayed, wait={**stayed.wait, "escalation": escalation.number}))


def _stay_position(
    line: ParsedLine,
    walk: SimulatedTask,
    position: SimulatedPosition,
    situation: dict[str, Any],
    decision: Any,
) -> SimulatedPosition:
    where = effects.stay_of_decision(decision)
    wait = effects.wait_without_empty_entries(where.wait)
    open_review = OpenReview(situation, decision) if isinstance(decision, Wait | Ask | Escalate) else None
    stayed = replace(position, status=where.status, wait=wait, error=where.error, asked=open_review)
    if stayed.status == REVIEW and walk.last_words:
        contents = {gate: gate_evidence(line, stayed, gate) for gate in wait["gates"]}
        rejected = gate_that_rejected_same_content_or_empty(walk.last_words, contents)
        if rejected:
            # An unchanged re-ask after a rejection is not asked: the task is held (law §6).
            return replace(stayed, status=HELD, wait={**wait, "rejection": {"gate": rejected}}, asked=None)
    return stayed


# The same once more


def refreshed_situation(line: ParsedLine, walk: SimulatedTask, index: int) -> dict[str, Any]:
    """The situation by which a position is held, by the facts of now."""
    open_review = walk.positions[index].asked
    assert open_review is not None
    return {
        **open_review.situation,
        "facts": effects.facts_of_waiting_token_now(
            open_review.situation["facts"], walk.current_facts(line, index)
        ),
    }


def record_with_waiting_decided_again(line: ParsedLine, record: StepRecord) -> StepRecord:
    """Every token that was held for something missing is decided again; where the same would come out it stays."""
    for token in [position.token for position in record.walk.positions if position.lacks_preconditions]:
        index = record.walk.index_of_unended_token_or_none(token)
        # What was decided before may have moved it, or ended the whole task.
        if index is not None and record.walk.positions[index].lacks_preconditions:
            situation = refreshed_situation(line, record.walk, index)
            if decides_otherwise(line, record.walk.positions[index], situation):
                record = record.with_consequence(apply_decision(line, record.walk, index, situation))
    return record


def decides_otherwise(line: ParsedLine, position: SimulatedPosition, situation: Mapping[str, Any]) -> bool:
    """Return whether another decision would be made now than the one that holds the position."""
    assert position.asked is not None
    return answer_without_trace(decide_again(line, situation)) != answer_without_trace(
        position.asked.decision
    )


def rerun_station(
    line: ParsedLine, walk: SimulatedTask, index: int, feedback: str, at: str = ""
) -> StepRecord:
    """Counts as a visit, but binds no budget (law §5 Counting). `at`: another station than its own."""
    old = walk.positions[index]
    change = rerun_transition(TokenPlace(line, old.station, old.origin), at, feedback)
    [entry] = change.entries
    again = walk.with_changes(change).with_position(index, old.moved_to_station(entry))
    return StepRecord(
        walk_escalations.walk_with_work_paused_or_resumed(again), old.station, entered=(entry.station,)
    )


def gate_evidence(line: ParsedLine, position: SimulatedPosition, gate: str) -> dict[str, Any]:
    """Evidence at a gate. A scripted outcome leaves no artifacts, so that they never differ."""
    open_review = position.asked
    assert open_review is not None and isinstance(open_review.decision, Wait)
    outcome = open_review.situation["outcome"]
    # Only compared with others of the same walk: the text itself does
    digest = jsontext.dumps(outcome.get("output"), sort_keys=True)
    return effects.gate_question(line, position.station, open_review.decision, gate, outcome, digest)
