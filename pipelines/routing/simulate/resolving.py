"""Actions of people on escalations and missing preconditions: escalate by hand, resolve, declare present. As
in `engine/commands/resolve_escalation.py` and `engine/commands/reconsider.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.redecide.recorded import again
from pipelines.routing.decide.decisions import Escalate
from pipelines.routing.decide.escalation_targets import ways
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION
from pipelines.routing.decide.transitions import CANCELLED, feedback_of
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.preconditions import GATE_PASSED
from pipelines.routing.simulate import escalating
from pipelines.routing.simulate.following import (
    decided,
    differs,
    joined,
    once_more,
    reconsidered,
    run_again,
)
from pipelines.routing.simulate.scenario import ScenarioStep
from pipelines.routing.simulate.state import (
    SimulatedEscalation,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
    StepRefused,
)


def escalate(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """Escalate by hand: it holds no station, and keeps the task from going forward."""
    after, _new = escalating.opened(line, walk, step.said["trigger"])
    return StepRecord(after, walk.positions[index].station)


def resolve(line: ParsedLine, walk: SimulatedTask, index: int, step: ScenarioStep) -> StepRecord:
    """The oldest open one that the step means. What it held goes on as the step says, then all that waited for it."""
    escalation = meant(walk, step)
    position_index = walk.holds(escalation)
    word, route = step.said["word"], step.said.get("route", "")
    if position_index is None and word in ("retry", "route", "choose"):
        raise StepRefused(f"{escalation.trigger} holds no station: let it go on, or cancel the task")
    after = escalating.closed(walk, escalation)
    if word == "cancel":
        return StepRecord(after.ending(CANCELLED), walk.positions[index].station)
    if position_index is None:
        return reconsidered(line, StepRecord(after, walk.positions[index].station))
    return reconsidered(
        line, _resolved(line, after, position_index, word, route, step.said.get("reason", ""))
    )


def meant(walk: SimulatedTask, step: ScenarioStep) -> SimulatedEscalation:
    """The oldest open one, of the trigger and of the station that the step names. Raises StepRefused."""
    trigger, at = step.said.get("trigger"), step.at
    for escalation in walk.escalations:
        if trigger in (None, escalation.trigger) and at in (None, escalation.station):
            return escalation
    which = " ".join(filter(None, [trigger, f"at {at}" if at else ""])) or "at all"
    known = ", ".join(escalation.trigger for escalation in walk.escalations)
    raise StepRefused(f"no escalation {which} is open" + (f"; open: {known}" if known else ""))


def _resolved(
    line: ParsedLine, walk: SimulatedTask, position_index: int, word: str, route: str, reason: str
) -> StepRecord:
    position = walk.positions[position_index]
    if word == "choose":
        chosen = _chosen(position, route)
        walk = replace(walk, context={**walk.context, **chosen})
    if word == "route" and route not in (open_ways := ways(line, position.station)):
        known = ", ".join(open_ways) or "none from here"
        raise StepRefused(f"{route} is no station to which {position.station} may be sent: {known}")
    feedback = feedback_of(word, reason, position.asked is not None)
    if feedback is not None:
        return joined(line, run_again(line, walk, position_index, feedback, route if word == "route" else ""))
    situation = once_more(line, walk, position_index)
    if isinstance(again(line, situation), Escalate):
        raise StepRefused("the same would be escalated again: run the station again, send it on, or cancel")
    return decided(line, walk, position_index, situation)


def _chosen(position: SimulatedPosition, route: str) -> dict[str, Any]:
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
    if not position.lacks:
        raise StepRefused(f"nothing is missing at {position.station}")
    assert position.asked is not None
    there = {name: name not in step.missing for name in _tellable(position)}
    facts = position.asked.situation["facts"]
    updated = {
        **position.asked.situation,
        "facts": {**facts, "preconditions": {**facts.get("preconditions", {}), **there}},
    }
    walk = walk.put(index, replace(position, asked=replace(position.asked, situation=updated)))
    situation = once_more(line, walk, index)
    if not differs(line, position, situation):
        raise StepRefused(f"{', '.join(position.wait['missing'])} is still missing at {position.station}")
    return reconsidered(line, decided(line, walk, index, situation))


def _tellable(position: SimulatedPosition) -> Iterator[str]:
    fixed = (NO_ESCALATION, GATE_PASSED)
    yield from (str(name) for name in position.wait["missing"] if name not in fixed)
