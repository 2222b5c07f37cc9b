"""Steps of a scenario, by the same `decide` and the same counting as in production. A walk never changes; every
step returns the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.basics.facts import with_source
from pipelines.routing.basics.outcome import derive
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.decide.effects import add_counts
from pipelines.routing.decide.outcome_judgement import cost_of, exact_amount, judge_outcome
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.decide.station_facts import tree_of
from pipelines.routing.decide.steps.gates import RANK
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate import walk_resolutions
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import (
    BLOCKED,
    HELD,
    READY,
    REVIEW,
    OpenReview,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
    StepRefused,
)
from pipelines.routing.simulate.walk_decisions import (
    apply_decision,
    gate_evidence,
    new_situation,
    rerun_station,
)

APPROVE, SEND_BACK = "approve", "send_back"
RETRIED = ("stuck", BLOCKED, HELD)


def take_step(line: ParsedLine, walk: SimulatedTask, step: ScenarioStep) -> StepRecord:
    """Perform one step. Raises StepRefused where it cannot happen."""
    index = _position_index(walk, step) if step.kind != "resolve" else _present_index(walk)
    try:
        return TAKERS[step.kind](line, walk, index, step)
    except Malformed as fault:
        raise StepRefused(str(fault)) from None


def _present_index(walk: SimulatedTask) -> int:
    """Return the present position: an escalation that is resolved may have arisen elsewhere."""
    if walk.is_over:
        raise StepRefused(f"the walk is over: it ended at {walk.end}")
    return walk.first_active_index


def _position_index(walk: SimulatedTask, step: ScenarioStep) -> int:
    first = _present_index(walk)
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
    cost = cost_of(step.outcome)
    if cost is not None:
        walk = replace(walk, spent=float(exact_amount(walk.spent) + cost))
    if step.answers:
        situation["facts"]["answers"] = list(step.answers)
    record = apply_decision(line, walk, index, situation)
    return replace(record, walk=_with_observations(line, record.walk, position, situation))


def _with_observations(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition, situation: dict[str, Any]
) -> SimulatedTask:
    """Return the walk with the observations of a visit that passed. A script that names no tree means one
    that nobody changes."""
    if not line.reads_stations or not situation["outcome"].get("facts"):
        return walk
    read = read_situation(situation)
    outcome = judge_outcome(line, line.station(position.station), read.outcome, read.facts.spent).outcome
    if derive(outcome).outcome_state != "passed":
        return walk
    tree = next((candidate for _, facts in reversed(walk.past) if (candidate := tree_of(facts))), "workspace")
    observed_facts = with_source(
        outcome.facts, {"station": position.station, "tree": tree_of(outcome.facts) or tree}
    )
    return replace(walk, past=(*walk.past, (position.station, observed_facts)))


def _take_votes(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """Words that are said together: the first other than approve decides at once, approvals when all are there."""
    position = walk.positions[index]
    _require_status(position, (REVIEW,), "words at gates")
    open_review = position.asked
    assert open_review is not None and isinstance(open_review.decision, Wait)
    for key, word in step.gates.items():
        _check_word(line, walk, open_review, key, word)
    words = {**open_review.words, **step.gates}
    walk = _record_votes(line, walk, position, step.gates)
    # Law §5: abort counts before reject, reject before rework, rework before send_back.
    against = sorted(
        (word["decision"] for word in step.gates.values() if word["decision"] != APPROVE), key=RANK.index
    )
    if not against and any(key not in words for key in open_review.decision.gates):
        waiting = replace(position, asked=replace(open_review, words=words))
        return StepRecord(walk.with_position(index, waiting), position.station)
    facts = effects.with_votes(open_review.situation["facts"], walk.current_facts(line, index), words)
    again = {**open_review.situation, "facts": facts}
    return apply_decision(line, walk, index, again, against[0] if against else "", open_review.decision.rule)


def _check_word(
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
    return replace(walk, rounds=add_counts(walk.rounds, rounds), last_words={**walk.last_words, **last_words})


def _take_answers(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """A person's or a machine's answer to the evaluation that is asked: decided again on the situation in which it was,
    but step 7 reads what other branches have spent and escalated meanwhile."""
    position = walk.positions[index]
    if position.asked is None or not position.wait.get("evaluation"):
        raise StepRefused(f"{_status_text(position)}: no evaluation is asked")
    facts = position.asked.situation["facts"]
    for answer in step.answers:
        facts = effects.with_answer(facts, walk.current_facts(line, index), answer)
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
    "escalate": walk_resolutions.escalate,
    "resolve": walk_resolutions.resolve,
    "reconsider": walk_resolutions.reconsider,
}
