"""Steps of a scenario, by the same `decide` and the same counting as in production. A walk never changes; every
step returns the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.redecide.recorded_decision import decide_again
from pipelines.routing.basics.facts import facts_with_source
from pipelines.routing.basics.outcome import derived_outcome
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Escalate, Wait
from pipelines.routing.decide.effects import counts_with_added
from pipelines.routing.decide.escalation_targets import escalation_targets
from pipelines.routing.decide.outcome_judgement import exact_amount, judge_outcome, outcome_cost_or_none
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.decide.station_facts import tree_left_by_visit_or_none
from pipelines.routing.decide.steps.gates import RANK
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION
from pipelines.routing.decide.transitions import (
    CANCELLED,
    escalation_feedback_or_none,
    forbidden_parallel_message_or_empty,
)
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.preconditions import GATE_PASSED
from pipelines.routing.simulate import walk_escalations
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import (
    BLOCKED,
    HELD,
    READY,
    REVIEW,
    OpenReview,
    PassedVisit,
    SimulatedEscalation,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
    StepRefused,
)
from pipelines.routing.simulate.walk_decisions import (
    apply_decision,
    decides_otherwise,
    gate_evidence,
    new_situation,
    record_with_all_joins_decided,
    record_with_waiting_decided_again,
    refreshed_situation,
    rerun_station,
)

# Actions of people on escalations and missing preconditions: escalate by hand, resolve, declare present. As
# in `engine/commands/resolve_escalation.py` and `engine/commands/reconsider.py`.


def escalate_by_hand(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """Escalate by hand: it holds no station, and keeps the task from going forward."""
    after, _new = walk_escalations.walk_with_escalation_and_escalation(line, walk, step.details["trigger"])
    return StepRecord(after, walk.positions[index].station)


def resolve_escalation(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """The oldest open one that the step means. What it held goes on as the step says, then all that waited for it."""
    escalation = find_escalation(walk, step)
    position_index = walk.index_held_by_or_none(escalation)
    word, route = step.details["word"], step.details.get("route", "")
    if position_index is None and word in ("retry", "route", "choose"):
        raise StepRefused(f"{escalation.trigger} holds no station: let it go on, or cancel the task")
    after = walk_escalations.walk_without_escalation(walk, escalation)
    if word == "cancel":
        return StepRecord(after.with_end(CANCELLED), walk.positions[index].station)
    if position_index is None:
        return record_with_waiting_decided_again(line, StepRecord(after, walk.positions[index].station))
    return record_with_waiting_decided_again(
        line, _apply_resolution(line, after, position_index, word, route, step.details.get("reason", ""))
    )


def find_escalation(walk: SimulatedTask, step: ScenarioStep) -> SimulatedEscalation:
    """Return the oldest open escalation with the trigger and station that the step names. Raises StepRefused."""
    trigger, at = step.details.get("trigger"), step.at
    for escalation in walk.escalations:
        if trigger in (None, escalation.trigger) and at in (None, escalation.station):
            return escalation
    which = " ".join(filter(None, [trigger, f"at {at}" if at else ""])) or "at all"
    known = ", ".join(escalation.trigger for escalation in walk.escalations)
    raise StepRefused(f"no escalation {which} is open" + (f"; open: {known}" if known else ""))


def _apply_resolution(
    line: ParsedLine, walk: SimulatedTask, position_index: int, word: str, route: str, reason: str
) -> StepRecord:
    position = walk.positions[position_index]
    if word == "choose":
        chosen = _chosen_values(position, route)
        walk = replace(walk, context={**walk.context, **chosen})
    if word == "route" and route not in (open_ways := escalation_targets(line, position.station)):
        known = ", ".join(open_ways) or "none from here"
        raise StepRefused(f"{route} is no station to which {position.station} may be sent: {known}")
    feedback = escalation_feedback_or_none(word, reason, position.asked is not None)
    if feedback is not None:
        target = route if word == "route" else ""
        _refuse_work_beside_forbidden(line, walk, position_index, target)
        return record_with_all_joins_decided(
            line, rerun_station(line, walk, position_index, feedback, target)
        )
    situation = refreshed_situation(line, walk, position_index)
    if isinstance(decide_again(line, situation), Escalate):
        raise StepRefused("the same would be escalated again: run the station again, send it on, or cancel")
    return apply_decision(line, walk, position_index, situation)


def _refuse_work_beside_forbidden(
    line: ParsedLine, walk: SimulatedTask, index: int, target: str = ""
) -> None:
    """Refuse to begin by hand what must never run in parallel with where another branch stands (law §17)."""
    station = target or walk.positions[index].station
    message = forbidden_parallel_message_or_empty(line, station, walk.other_stations(index))
    if message:
        raise StepRefused(message)


def _chosen_values(position: SimulatedPosition, route: str) -> dict[str, Any]:
    """Return the values of that branch for the contradicted keys."""
    branch_values: dict[str, dict[str, Any]] = position.wait.get("values", {})
    if route not in branch_values:
        known = ", ".join(branch_values) or "nothing is contradicted here"
        raise StepRefused(f"{route} is no branch that contradicts another: {known}")
    return branch_values[route]


# What was missing


def decide_with_preconditions_met(
    line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep
) -> StepRecord:
    """Declare everything present that a scenario may declare, except what the step names. Only another run
    mends a station's gate that was not passed, only somebody who resolves it an open escalation."""
    position = walk.positions[index]
    if not position.lacks_preconditions:
        raise StepRefused(f"nothing is missing at {position.station}")
    assert position.asked is not None
    there = {name: name not in step.missing for name in _declarable_missing_preconditions(position)}
    facts = position.asked.situation["facts"]
    updated = {
        **position.asked.situation,
        "facts": {**facts, "preconditions": {**facts.get("preconditions", {}), **there}},
    }
    walk = walk.with_position(index, replace(position, asked=replace(position.asked, situation=updated)))
    situation = refreshed_situation(line, walk, index)
    if not decides_otherwise(line, position, situation):
        raise StepRefused(f"{', '.join(position.wait['missing'])} is still missing at {position.station}")
    return record_with_waiting_decided_again(line, apply_decision(line, walk, index, situation))


def _declarable_missing_preconditions(position: SimulatedPosition) -> Iterator[str]:
    fixed = (NO_ESCALATION, GATE_PASSED)
    yield from (str(name) for name in position.wait["missing"] if name not in fixed)


APPROVE, SEND_BACK = "approve", "send_back"
RETRIED = ("stuck", BLOCKED, HELD)


def take_step(line: ParsedLine, walk: SimulatedTask, step: ScenarioStep) -> StepRecord:
    """Perform one step. Raises StepRefused where it cannot happen."""
    index = _position_index(walk, step) if step.kind != "resolve" else _first_active_index_or_refuse(walk)
    try:
        return TAKERS[step.kind](line, walk, index, step)
    except Malformed as fault:
        raise StepRefused(str(fault)) from None


def _first_active_index_or_refuse(walk: SimulatedTask) -> int:
    """Return the present position: an escalation that is resolved may have arisen elsewhere."""
    if walk.is_over:
        raise StepRefused(f"the walk is over: it ended at {walk.end}")
    return walk.first_active_index


def _position_index(walk: SimulatedTask, step: ScenarioStep) -> int:
    first = _first_active_index_or_refuse(walk)
    if step.at is None:
        return first
    indices = [
        i for i, position in enumerate(walk.positions) if position.station == step.at and position.is_active
    ]
    if not indices:
        stations = ", ".join(position.station for position in walk.positions if position.is_active)
        raise StepRefused(f"no token stands at {step.at}, but at {stations}")
    return indices[0]


# What happens


def _take_outcome(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    position = walk.positions[index]
    _require_status(position, (READY,), "an outcome")
    situation = new_situation(line, walk, index, step.outcome, step.missing)
    # After the situation, whose `spent` is what the task cost before this outcome.
    cost = outcome_cost_or_none(step.outcome)
    if cost is not None:
        walk = replace(walk, spent=float(exact_amount(walk.spent) + cost))
    if step.answers:
        situation["facts"]["answers"] = list(step.answers)
    # Before the move, by which the position may fork, or be joined with others
    walk = walk.with_position(index, _position_with_observations(line, position, situation, walk.clock))
    return apply_decision(line, walk, index, situation)


def _position_with_observations(
    line: ParsedLine, position: SimulatedPosition, situation: dict[str, Any], order: int
) -> SimulatedPosition:
    """Return the position with the observations of a visit that passed. A script that names no tree means one
    that nobody changes."""
    if not line.reads_stations or not situation["outcome"].get("facts"):
        return position
    read = read_situation(situation)
    outcome = judge_outcome(line, line.station(position.station), read.outcome, read.facts.spent).outcome
    if derived_outcome(outcome).outcome_state != "passed":
        return position
    trees = (tree_left_by_visit_or_none(facts) for _, facts in reversed(position.past_visits))
    tree = next((candidate for candidate in trees if candidate), "workspace")
    observed_facts = facts_with_source(
        outcome.facts,
        {"station": position.station, "tree": tree_left_by_visit_or_none(outcome.facts) or tree},
    )
    passed = PassedVisit(order, (position.station, observed_facts))
    return replace(position, past=(*position.past, passed))


def _take_votes(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """Words that are said together: the first other than approve decides at once, approvals when all are there."""
    position = walk.positions[index]
    _require_status(position, (REVIEW,), "words at gates")
    open_review = position.asked
    assert open_review is not None and isinstance(open_review.decision, Wait)
    for key, word in step.gates.items():
        _require_open_gate_and_valid_word(line, walk, open_review, key, word)
    words = {**open_review.words, **step.gates}
    walk = _record_votes(line, walk, position, step.gates)
    # Law §5: abort counts before reject, reject before rework, rework before send_back.
    against = sorted(
        (word["decision"] for word in step.gates.values() if word["decision"] != APPROVE), key=RANK.index
    )
    if not against and any(key not in words for key in open_review.decision.gates):
        waiting = replace(position, asked=replace(open_review, words=words))
        return StepRecord(walk.with_position(index, waiting), position.station)
    facts = effects.facts_with_votes(open_review.situation["facts"], walk.current_facts(line, index), words)
    again = {**open_review.situation, "facts": facts}
    return apply_decision(line, walk, index, again, against[0] if against else "", open_review.decision.rule)


def _require_open_gate_and_valid_word(
    line: ParsedLine, walk: SimulatedTask, open_review: OpenReview, key: str, word: Mapping[str, str]
) -> None:
    open_gates = [
        gate_key
        for gate_key in getattr(open_review.decision, "gates", ())
        if gate_key not in open_review.words
    ]
    if key not in open_gates:
        raise StepRefused(f"gate {key} is not open here, but {', '.join(open_gates)}")
    gate = line.gate(key)
    if word["decision"] not in gate.offers:
        raise StepRefused(f"gate {key} does not offer {word['decision']}, but {', '.join(gate.offers)}")
    if word["decision"] == SEND_BACK and walk.rounds.get(key, 0) >= gate.approval.max_rounds:
        raise StepRefused(f"gate {key} was sent back {gate.approval.max_rounds} times already")


def _record_votes(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition, words: Mapping[str, Mapping[str, str]]
) -> SimulatedTask:
    rounds = {key: 1 for key, word in words.items() if word["decision"] == SEND_BACK}
    last_words = {key: (word["decision"], gate_evidence(line, position, key)) for key, word in words.items()}
    return replace(
        walk, rounds=counts_with_added(walk.rounds, rounds), last_words={**walk.last_words, **last_words}
    )


def _take_answers(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """A person's or a machine's answer to the evaluation that is asked: decided again on the situation in which it was,
    but step 7 reads what other branches have spent and escalated meanwhile."""
    position = walk.positions[index]
    if position.asked is None or not position.wait.get("evaluation"):
        raise StepRefused(f"{_status_text(position)}: no evaluation is asked")
    facts = position.asked.situation["facts"]
    for answer in step.answers:
        facts = effects.facts_with_answer(facts, walk.current_facts(line, index), answer)
    return apply_decision(line, walk, index, {**position.asked.situation, "facts": facts})


def _take_answer(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    position = walk.positions[index]
    _require_status(position, (BLOCKED,), "an answer")
    if position.wait.get("evaluation"):
        raise StepRefused("an evaluation is asked: say `answers`, not `answer`")
    return rerun_station(line, walk, index, step.answer)


def _take_retry(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    position = walk.positions[index]
    _require_status(position, RETRIED, "a retry")
    if "paused_by" in position.wait:
        raise StepRefused(f"{_status_text(position)}: its work is held until somebody resolves that")
    _refuse_work_beside_forbidden(line, walk, index)
    return rerun_station(line, walk, index, position.feedback)


def _require_status(position: SimulatedPosition, statuses: tuple[str, ...], what: str) -> None:
    if position.status not in statuses:
        raise StepRefused(f"{_status_text(position)}: {what} cannot come now")


def _status_text(position: SimulatedPosition) -> str:
    if position.status == READY:
        return f"{position.station} has not reported yet"
    gates = position.wait.get("gates")
    at = f" at {', '.join(gates)}" if gates else ""
    why = position.error or ", ".join(position.wait.get("missing") or ()) or position.wait.get("trigger")
    return f"{position.station} is {position.status}{at}{f' ({why})' if why else ''}"


TAKERS = {
    "outcome": _take_outcome,
    "gates": _take_votes,
    "answers": _take_answers,
    "answer": _take_answer,
    "retry": _take_retry,
    "escalate": escalate_by_hand,
    "resolve": resolve_escalation,
    "reconsider": decide_with_preconditions_met,
}
