"""Escalations of a walk as they open and close: what they do to the task itself. Mail, incidents and the suspension of
agents are no part of a walk, and neither is time: no answer is ever too late."""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.decide.holds import BLOCK, convened, joined, paused_by
from pipelines.routing.document.escalations import REVIEW, EscalationRule
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.state import HELD, READY, SimulatedEscalation, SimulatedTask


def opened(
    line: ParsedLine,
    walk: SimulatedTask,
    trigger: str,
    index: int | None = None,
    *,
    role: str = "",
    rule: str = "",
) -> tuple[SimulatedTask, SimulatedEscalation]:
    """Open an escalation as the line declares it for this trigger. `index`: the position where it arises,
    whose own status does not change; `role`: another one that the source of the escalation names."""
    escalation_rule = line.escalation(trigger)
    position = walk.positions[index] if index is not None else None
    new = SimulatedEscalation(
        walk.escalated + 1,
        trigger,
        role or escalation_rule.role,
        position.token if position else 0,
        position.station if position else "",
        rule,
        # What is done on a breach never comes: a walk has no time.
        BLOCK in escalation_rule.at_once,
    )
    walk = blocked(_with(walk, new), but=index)
    if "convene_review" in escalation_rule.at_once:
        walk = _convened(walk, escalation_rule, new)
    return walk, new


def _with(walk: SimulatedTask, new: SimulatedEscalation) -> SimulatedTask:
    return replace(walk, escalations=(*walk.escalations, new), escalated=new.number)


def blocked(walk: SimulatedTask, but: int | None = None) -> SimulatedTask:
    """Pause all work that has not reported yet by every open escalation that blocks, as in
    `engine/moves/pausing.py`; it goes on when there is none. `but`: a position that has just reported."""
    wait = joined(
        [
            paused_by(escalation.number, escalation.trigger)
            for escalation in walk.escalations
            if escalation.blocks
        ]
    )
    status = HELD if wait else READY
    positions = tuple(
        replace(position, status=status, wait=wait) if position.works and index != but else position
        for index, position in enumerate(walk.positions)
    )
    return replace(walk, positions=positions)


def _convened(walk: SimulatedTask, escalation_rule: EscalationRule, of: SimulatedEscalation) -> SimulatedTask:
    """A role that is asked already is not asked twice."""
    roles = {
        escalation.role
        for escalation in walk.escalations
        if (escalation.trigger, escalation.station) == (REVIEW, of.station)
    }
    for role in convened(escalation_rule.notify, of.role, roles):
        walk = _with(walk, SimulatedEscalation(walk.escalated + 1, REVIEW, role, station=of.station))
    return walk


def closed(walk: SimulatedTask, escalation: SimulatedEscalation) -> SimulatedTask:
    """Close the escalation; work that only it blocked goes on."""
    left = tuple(other for other in walk.escalations if other.number != escalation.number)
    return blocked(replace(walk, escalations=left))
