"""Possible next events of a token, each choice with its effect: tried by `take`, never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.analysis.lint.station_analysis import MAX_STATION, StationAnalysis, analyse_station
from pipelines.routing.analysis.satisfiability.liveness import DEAD, Liveness
from pipelines.routing.basics import jsontext
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.decide.escalation_targets import escalation_targets
from pipelines.routing.decide.outcome_judgement import outcome_with_expected_artifacts
from pipelines.routing.document.algebra import (
    Condition,
    EvalTest,
    FailureTypeTest,
    ResultTest,
    VerdictTest,
    condition_leaf_tests,
)
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.simulate.candidates import (
    CHOOSES,
    REASON,
    Candidate,
    Candidates,
    possible_answer_steps,
)
from pipelines.routing.simulate.path_search import answered_step_and_record
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.scenario_generation import dead_rule_reason
from pipelines.routing.simulate.state import (
    BLOCKED,
    HELD,
    READY,
    REVIEW,
    SimulatedEscalation,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
    StepRefused,
)
from pipelines.routing.simulate.walk_steps import take_step

QUICK, RULE, REST, WORD, ANSWER, RETRY = "quick", "rule", "rest", "word", "answer", "retry"
RESOLVE, THERE = "resolve", "there"
STUCK, ANY = "stuck", "any"
_RESULTS = ("success", "failure")
_FIXED_ROUTES = ("fail", "rework")


@dataclass(frozen=True, slots=True)
class SimulationChoice:
    """`taken`: what the step would do now; None where it cannot happen, and `refused` says why. `rule`: whose witness
    it is; `leads`: whether that rule is what decides now, for what was counted so far may keep it from being taken.
    `gate`: at which it is a word, "" for all that are open."""

    kind: str
    step: ScenarioStep | None
    taken: StepRecord | None = None
    refused: str = ""
    rule: str = ""
    leads: bool = True
    gate: str = ""


class _LazyAnalyses:
    """Analyses of stations, each made only when a walk reaches its station."""

    def __init__(self, line: ParsedLine) -> None:
        self._line = line

    def analysis(self, station: Station) -> StationAnalysis:
        return analyse_station(self._line, station, MAX_STATION)


def simulation_choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> tuple[SimulationChoice, ...]:
    """Return the choices of one of the walk's tokens that has not ended. A question is answered in words,
    which nobody can predict: its only choice is to run again. An escalation is resolved, a missing
    precondition is declared present."""
    return tuple(_locate_choices(walk, position, _position_choices(line, walk, position)))


def _locate_choices(
    walk: SimulatedTask, position: SimulatedPosition, token_choices: Iterator[SimulationChoice]
) -> Iterator[SimulationChoice]:
    """Yield the choices; while branches run side by side each step names its station."""
    several = sum(other.is_active for other in walk.positions) > 1
    for choice in token_choices:
        if choice.kind == RESOLVE:
            # It names what is resolved, which need not stand here any more.
            yield choice
            continue
        located_step = choice.step and replace(choice.step, at=position.station if several else None)
        yield replace(choice, step=located_step)


def _position_choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    if position.arrival:
        return
    if position.status == READY:
        yield from _outcome_choices(line, walk, position)
    elif position.status == REVIEW:
        yield from _vote_choices(line, walk, position)
    elif position.status == BLOCKED and position.wait.get("evaluation"):
        for step in possible_answer_steps(position.wait["evaluation"]):
            yield _choice_answering_evaluations(line, walk, position, ANSWER, step)
    yield from _resolution_choices(line, walk, position)
    if position.lacks_preconditions:
        yield from _choice_unless_refused(
            _choice_answering_evaluations(line, walk, position, THERE, ScenarioStep("reconsider"))
        )
    if position.status in (STUCK, BLOCKED, HELD):
        yield from _choice_unless_refused(
            _choice_answering_evaluations(line, walk, position, RETRY, ScenarioStep("retry"))
        )


def _choice_unless_refused(choice: SimulationChoice) -> Iterator[SimulationChoice]:
    """Only what can happen."""
    if choice.taken is not None:
        yield choice


# Escalations


def _resolution_choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    """Yield the resolutions of the escalation that holds this position; the first position that has work, or
    waits, also has those of escalations that hold none."""
    index = walk.index_of_unended_token_or_none(position.token)
    first = index == walk.first_active_index
    for escalation in walk.escalations:
        position_index = walk.index_held_by_or_none(escalation)
        if position_index == index or (position_index is None and first):
            for resolution in _resolution_words(line, position, escalation, holds=position_index is not None):
                step = ScenarioStep(
                    "resolve",
                    escalation.station or None,
                    details={**resolution, "trigger": escalation.trigger},
                )
                yield from _choice_unless_refused(_choice_of_unchanged_step(line, walk, RESOLVE, step))


def _resolution_words(
    line: ParsedLine, position: SimulatedPosition, of: SimulatedEscalation, *, holds: bool
) -> Iterator[dict[str, str]]:
    yield {"word": "go_on"}
    if holds:
        yield from ({"word": "choose", "route": source} for source in position.wait.get("values", ()))
        yield {"word": "retry", "reason": REASON}
        yield from (
            {"word": "route", "route": to, "reason": REASON} for to in escalation_targets(line, of.station)
        )
    yield {"word": "cancel"}


def _choice_of_unchanged_step(
    line: ParsedLine, walk: SimulatedTask, kind: str, step: ScenarioStep
) -> SimulationChoice:
    try:
        return SimulationChoice(kind, step, take_step(line, walk, step))
    except StepRefused as why:
        return SimulationChoice(kind, step, refused=str(why), leads=False)


# Outcomes


def _outcome_choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    station = line.station(position.station)
    for outcome in _quick_outcomes(station):
        yield _choice_answering_evaluations(
            line, walk, position, QUICK, ScenarioStep("outcome", outcome=outcome)
        )
    analysed = _LazyAnalyses(line)
    candidates = list(Candidates(line, analysed).candidates_at(position))
    for liveness in analysed.analysis(station).standings:
        yield _rule_choice(
            line, walk, position, liveness, [c for c in candidates if c.rule == liveness.rule.id]
        )
    for candidate in candidates if station.rules else ():
        if candidate.rule is None:
            yield _choice_answering_evaluations(line, walk, position, REST, candidate.step)


def _rule_choice(
    line: ParsedLine,
    walk: SimulatedTask,
    position: SimulatedPosition,
    liveness: Liveness,
    witnesses: list[Candidate],
) -> SimulationChoice:
    """The first witness that the rule takes now, else the first one, with what becomes of it."""
    rule = liveness.rule.id
    tried = [
        _choice_answering_evaluations(line, walk, position, RULE, witness.step, rule) for witness in witnesses
    ]
    for choice in tried:
        # A witness is of the rule alone: here and now a rule above it may take the outcome
        if choice.leads:
            return choice
    if tried:
        return tried[0]
    why = (
        dead_rule_reason(liveness)
        if liveness.status == DEAD
        else liveness.why or "no outcome was found that it takes"
    )
    return SimulationChoice(RULE, None, refused=why, rule=rule, leads=False)


def _choice_answering_evaluations(
    line: ParsedLine,
    walk: SimulatedTask,
    position: SimulatedPosition,
    kind: str,
    step: ScenarioStep,
    rule: str = "",
) -> SimulationChoice:
    try:
        full_step, record = answered_step_and_record(line, walk, replace(step, at=position.station))
    except StepRefused as why:
        return SimulationChoice(kind, step, refused=str(why), rule=rule, leads=False)
    # A rule that waits at its gates is not taken yet, but it is what decides.
    waits = isinstance(record.decision, Wait) and record.decision.rule == rule
    leads = not rule or rule in record.rules or waits
    # `_locate_choices` names the station again where several tokens stand.
    return SimulationChoice(kind, replace(full_step, at=None), record, rule=rule, leads=leads)


def _quick_outcomes(station: Station) -> list[dict[str, Any]]:
    """Success and failure, the words of its kind, and every word that a rule of the station asks for by name."""
    outcomes: list[dict[str, Any]] = [{"result": result} for result in _RESULTS]
    kind = KINDS.get(station.kind)
    if kind and kind.tells:
        outcomes += [{"eval": word} for word in kind.evals]
    for rule in station.rules:
        for leaf in condition_leaf_tests(rule.when):
            outcomes += _condition_outcomes(leaf)
    made = [outcome_with_expected_artifacts(station, outcome) for outcome in outcomes]
    return list({jsontext.dumps(outcome): outcome for outcome in made}.values())


def _condition_outcomes(condition: Condition) -> Iterator[dict[str, Any]]:
    match condition:
        case ResultTest(words=words):
            yield from ({"result": word} for word in words if word != ANY)
        case VerdictTest(words=words):
            yield from ({"verdict": word} for word in words if word != ANY)
        case FailureTypeTest(types=types):
            yield from ({"result": "failure", "failure_type": failure_type} for failure_type in types)
        case EvalTest(op="equals", value=value) if isinstance(value, str):
            yield {"eval": value}


# Words


def _vote_choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    """Yield the votes that each open gate offers; approving all gates that are open at once is a choice of
    its own."""
    open_review = position.asked
    assert open_review is not None and isinstance(open_review.decision, Wait)
    keys = [key for key in open_review.decision.gates if key not in open_review.words]
    if len(keys) > 1:
        step = ScenarioStep("gates", gates={key: {"decision": "approve"} for key in keys})
        yield _choice_answering_evaluations(line, walk, position, WORD, step)
    for key in keys:
        gate = line.gate(key)
        for word in gate.offers:
            for vote in _possible_votes(line, word, gate.on_reject or line.policy.on_reject):
                step = ScenarioStep("gates", gates={key: vote})
                yield replace(_choice_answering_evaluations(line, walk, position, WORD, step), gate=key)


def _possible_votes(line: ParsedLine, word: str, on_reject: str) -> Iterator[dict[str, str]]:
    vote = {"decision": word} if word == "approve" else {"decision": word, "reason": REASON}
    if word != "reject" or on_reject != CHOOSES:
        yield vote
        return
    for route in (*_FIXED_ROUTES, *line.stations_by_key):
        yield {**vote, "route": route}
