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
    """As the line says for this trigger. `index`: of the position where it arises, whose own status is not touched;
    `role`: another one that is named by what escalates."""
    said = line.escalation(trigger)
    position = walk.positions[index] if index is not None else None
    new = SimulatedEscalation(
        walk.escalated + 1,
        trigger,
        role or said.role,
        position.token if position else 0,
        position.station if position else "",
        rule,
        BLOCK in said.at_once,
    )
    walk = blocked(_with(walk, new), but=index)
    if "convene_review" in said.at_once:
        walk = _convened(walk, said, new)
    return walk, new


def _with(walk: SimulatedTask, new: SimulatedEscalation) -> SimulatedTask:
    return replace(walk, escalations=(*walk.escalations, new), escalated=new.number)


def blocked(walk: SimulatedTask, but: int | None = None) -> SimulatedTask:
    """All work that has not reported yet is held by every open escalation that blocks, as in `engine/holding.py`; it
    goes on when there is none. `but`: a position that has just reported."""
    wait = joined([paused_by(each.number, each.trigger) for each in walk.escalations if each.blocks])
    status = HELD if wait else READY
    positions = tuple(
        replace(each, status=status, wait=wait) if each.works and index != but else each
        for index, each in enumerate(walk.positions)
    )
    return replace(walk, positions=positions)


def _convened(walk: SimulatedTask, said: EscalationRule, of: SimulatedEscalation) -> SimulatedTask:
    """A role that is asked already is not asked twice."""
    asked = {each.role for each in walk.escalations if (each.trigger, each.station) == (REVIEW, of.station)}
    for role in convened(said.notify, of.role, asked):
        walk = _with(walk, SimulatedEscalation(walk.escalated + 1, REVIEW, role, station=of.station))
    return walk


def closed(walk: SimulatedTask, escalation: SimulatedEscalation) -> SimulatedTask:
    """What only it blocked goes on."""
    left = tuple(each for each in walk.escalations if each.number != escalation.number)
    return blocked(replace(walk, escalations=left))
