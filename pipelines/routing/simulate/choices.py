"""What may happen next where a token stands, each choice with what it would do: tried by `take`, never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.analysis.lint.station_analysis import MAX_STATION, StationAnalysis, study
from pipelines.routing.analysis.regions.liveness import DEAD, Liveness
from pipelines.routing.basics import jsontext
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.decide.escalation_targets import ways
from pipelines.routing.decide.judging import as_expected
from pipelines.routing.decide.steps.gates import gate_of
from pipelines.routing.document.algebra import Condition, EvalTest, FailureTypeIs, ResultIs, VerdictIs, leaves
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.simulate.candidates import CHOOSES, REASON, Candidate, Candidates, answers_to
from pipelines.routing.simulate.generate import killed
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.search import answering
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
from pipelines.routing.simulate.walk import take

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


class _Stations:
    """The analysis of one station at a time: what a walk never reaches is not analysed."""

    def __init__(self, line: ParsedLine) -> None:
        self._line = line

    def analysis(self, station: Station) -> StationAnalysis:
        return study(self._line, station, MAX_STATION)


def choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> tuple[SimulationChoice, ...]:
    """For one of the walk's tokens that has not ended. A question is answered in words, which nobody can foresee: it
    has no choice but to run again. What is escalated is resolved, what is missing said to be there."""
    return tuple(_at_token(walk, position, _choices(line, walk, position)))


def _at_token(
    walk: SimulatedTask, position: SimulatedPosition, found: Iterator[SimulationChoice]
) -> Iterator[SimulationChoice]:
    """While branches run side by side a step names its station."""
    several = sum(each.here for each in walk.positions) > 1
    for choice in found:
        if choice.kind == RESOLVE:
            # It names what is resolved, which need not stand here any more.
            yield choice
            continue
        named = choice.step and replace(choice.step, at=position.station if several else None)
        yield replace(choice, step=named)


def _choices(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    if position.arrival:
        return
    if position.status == READY:
        yield from _outcomes(line, walk, position)
    elif position.status == REVIEW:
        yield from _words(line, walk, position)
    elif position.status == BLOCKED and position.wait.get("evaluation"):
        for step in answers_to(position.wait["evaluation"]):
            yield _tried(line, walk, position, ANSWER, step)
    yield from _resolutions(line, walk, position)
    if position.lacks:
        yield from _happening(_tried(line, walk, position, THERE, ScenarioStep("reconsider")))
    if position.status in (STUCK, BLOCKED, HELD):
        yield from _happening(_tried(line, walk, position, RETRY, ScenarioStep("retry")))


def _happening(choice: SimulationChoice) -> Iterator[SimulationChoice]:
    """Only what can happen."""
    if choice.taken is not None:
        yield choice


# Escalations


def _resolutions(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    """Of the escalation that holds this position; the first one that has work, or waits, also has those that hold
    none."""
    index = walk.index_of(position.token)
    first = index == walk.present
    for each in walk.escalations:
        held = walk.holds(each)
        if held == index or (held is None and first):
            for said in _words_to(line, position, each, holds=held is not None):
                step = ScenarioStep("resolve", each.station or None, said={**said, "trigger": each.trigger})
                yield from _happening(_tried_as_it_is(line, walk, RESOLVE, step))


def _words_to(
    line: ParsedLine, position: SimulatedPosition, of: SimulatedEscalation, *, holds: bool
) -> Iterator[dict[str, str]]:
    yield {"word": "go_on"}
    if holds:
        yield from ({"word": "choose", "route": source} for source in position.wait.get("values", ()))
        yield {"word": "retry", "reason": REASON}
        yield from ({"word": "route", "route": to, "reason": REASON} for to in ways(line, of.station))
    yield {"word": "cancel"}


def _tried_as_it_is(line: ParsedLine, walk: SimulatedTask, kind: str, step: ScenarioStep) -> SimulationChoice:
    try:
        return SimulationChoice(kind, step, take(line, walk, step))
    except StepRefused as why:
        return SimulationChoice(kind, step, refused=str(why), leads=False)


# Outcomes


def _outcomes(
    line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> Iterator[SimulationChoice]:
    station = line.station(position.station)
    for outcome in _quick(station):
        yield _tried(line, walk, position, QUICK, ScenarioStep("outcome", outcome=outcome))
    analysed = _Stations(line)
    found = list(Candidates(line, analysed).at(position))
    for standing in analysed.analysis(station).standings:
        yield _of_rule(line, walk, position, standing, [c for c in found if c.rule == standing.rule.id])
    for candidate in found if station.rules else ():
        if candidate.rule is None:
            yield _tried(line, walk, position, REST, candidate.step)


def _of_rule(
    line: ParsedLine,
    walk: SimulatedTask,
    position: SimulatedPosition,
    standing: Liveness,
    witnesses: list[Candidate],
) -> SimulationChoice:
    """The first witness that the rule takes now, else the first one, with what becomes of it."""
    rule = standing.rule.id
    tried = [_tried(line, walk, position, RULE, each.step, rule) for each in witnesses]
    for choice in tried:
        if choice.leads:
            return choice
    if tried:
        return tried[0]
    why = (
        killed(standing) if standing.status == DEAD else standing.why or "no outcome was found that it takes"
    )
    return SimulationChoice(RULE, None, refused=why, rule=rule, leads=False)


def _tried(
    line: ParsedLine,
    walk: SimulatedTask,
    position: SimulatedPosition,
    kind: str,
    step: ScenarioStep,
    rule: str = "",
) -> SimulationChoice:
    try:
        asked, taken = answering(line, walk, replace(step, at=position.station))
    except StepRefused as why:
        return SimulationChoice(kind, step, refused=str(why), rule=rule, leads=False)
    waits = isinstance(taken.decision, Wait) and taken.decision.rule == rule
    leads = not rule or rule in taken.rules or waits
    return SimulationChoice(kind, replace(asked, at=None), taken, rule=rule, leads=leads)


def _quick(station: Station) -> list[dict[str, Any]]:
    """Success and failure, the words of its kind, and every word that a rule of the station asks for by name."""
    found: list[dict[str, Any]] = [{"result": each} for each in _RESULTS]
    kind = KINDS.get(station.kind)
    if kind and kind.tells:
        found += [{"eval": word} for word in kind.evals]
    for rule in station.rules:
        for leaf in leaves(rule.when):
            found += _named(leaf)
    made = [as_expected(station, each) for each in found]
    return list({jsontext.dumps(each): each for each in made}.values())


def _named(condition: Condition) -> Iterator[dict[str, Any]]:
    match condition:
        case ResultIs(words=words):
            yield from ({"result": word} for word in words if word != ANY)
        case VerdictIs(words=words):
            yield from ({"verdict": word} for word in words if word != ANY)
        case FailureTypeIs(types=types):
            yield from ({"result": "failure", "failure_type": each} for each in types)
        case EvalTest(op="equals", value=value) if isinstance(value, str):
            yield {"eval": value}


# Words


def _words(line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition) -> Iterator[SimulationChoice]:
    """Of each open gate those that it offers; approving all that are open at once is a choice of its own."""
    asked = position.asked
    assert asked is not None and isinstance(asked.decision, Wait)
    keys = [key for key in asked.decision.gates if key not in asked.words]
    if len(keys) > 1:
        step = ScenarioStep("gates", gates={key: {"decision": "approve"} for key in keys})
        yield _tried(line, walk, position, WORD, step)
    for key in keys:
        gate = gate_of(line, key)
        for word in gate.offers:
            for said in _said(line, word, gate.on_reject or line.policy.on_reject):
                step = ScenarioStep("gates", gates={key: said})
                yield replace(_tried(line, walk, position, WORD, step), gate=key)


def _said(line: ParsedLine, word: str, on_reject: str) -> Iterator[dict[str, str]]:
    said = {"decision": word} if word == "approve" else {"decision": word, "reason": REASON}
    if word != "reject" or on_reject != CHOOSES:
        yield said
        return
    for route in (*_FIXED_ROUTES, *line.stations_by_key):
        yield {**said, "route": route}
