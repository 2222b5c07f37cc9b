"""Actions of people on escalations and missing preconditions: escalate by hand, resolve, declare present. As
in `engine/commands/resolve_escalation.py` and `engine/commands/reconsider.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.redecide.recorded_decision import decide_again
from pipelines.routing.decide.decisions import Escalate
from pipelines.routing.decide.escalation_targets import escalation_targets
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION
from pipelines.routing.decide.transitions import CANCELLED, feedback_of
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.preconditions import GATE_PASSED
from pipelines.routing.simulate import walk_escalations
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import (
    SimulatedEscalation,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
    StepRefused,
)
from pipelines.routing.simulate.walk_decisions import (
    apply_decision,
    decide_joins,
    decides_otherwise,
    reconsider_all,
    refreshed_situation,
    rerun_station,
)


def escalate(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """Escalate by hand: it holds no station, and keeps the task from going forward."""
    after, _new = walk_escalations.open_escalation(line, walk, step.said["trigger"])
    return StepRecord(after, walk.positions[index].station)


def resolve(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """The oldest open one that the step means. What it held goes on as the step says, then all that waited for it."""
    escalation = find_escalation(walk, step)
    position_index = walk.waiting_index(escalation)
    word, route = step.said["word"], step.said.get("route", "")
    if position_index is None and word in ("retry", "route", "choose"):
        raise StepRefused(f"{escalation.trigger} holds no station: let it go on, or cancel the task")
    after = walk_escalations.close_escalation(walk, escalation)
    if word == "cancel":
        return StepRecord(after.with_end(CANCELLED), walk.positions[index].station)
    if position_index is None:
        return reconsider_all(line, StepRecord(after, walk.positions[index].station))
    return reconsider_all(
        line, _apply_resolution(line, after, position_index, word, route, step.said.get("reason", ""))
    )


def find_escalation(walk: SimulatedTask, step: ScenarioStep) -> SimulatedEscalation:
    """Return the oldest open escalation with the trigger and station that the step names. Raises StepRefused."""
    trigger, at = step.said.get("trigger"), step.at
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
    feedback = feedback_of(word, reason, position.asked is not None)
    if feedback is not None:
        return decide_joins(
            line, rerun_station(line, walk, position_index, feedback, route if word == "route" else "")
        )
    situation = refreshed_situation(line, walk, position_index)
    if isinstance(decide_again(line, situation), Escalate):
        raise StepRefused("the same would be escalated again: run the station again, send it on, or cancel")
    return apply_decision(line, walk, position_index, situation)


def _chosen_values(position: SimulatedPosition, route: str) -> dict[str, Any]:
    """Return the values of that branch for the contradicted keys."""
    branch_values: dict[str, dict[str, Any]] = position.wait.get("values", {})
    if route not in branch_values:
        known = ", ".join(branch_values) or "nothing is contradicted here"
        raise StepRefused(f"{route} is no branch that contradicts another: {known}")
    return branch_values[route]


# What was missing


def reconsider(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """Declare everything present that a scenario may declare, except what the step names. Only another run
    mends a station's gate that was not passed, only somebody who resolves it an open escalation."""
    position = walk.positions[index]
    if not position.lacks_preconditions:
        raise StepRefused(f"nothing is missing at {position.station}")
    assert position.asked is not None
    there = {name: name not in step.missing for name in _declarable(position)}
    facts = position.asked.situation["facts"]
    updated = {
        **position.asked.situation,
        "facts": {**facts, "preconditions": {**facts.get("preconditions", {}), **there}},
    }
    walk = walk.with_position(index, replace(position, asked=replace(position.asked, situation=updated)))
    situation = refreshed_situation(line, walk, index)
    if not decides_otherwise(line, position, situation):
        raise StepRefused(f"{', '.join(position.wait['missing'])} is still missing at {position.station}")
    return reconsider_all(line, apply_decision(line, walk, index, situation))


def _declarable(position: SimulatedPosition) -> Iterator[str]:
    fixed = (NO_ESCALATION, GATE_PASSED)
    yield from (str(name) for name in position.wait["missing"] if name not in fixed)
