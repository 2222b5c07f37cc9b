"""Escalations of a walk: how they open and close, and what that does to the task. Mail, incidents and the
suspension of agents are not simulated, and neither is time: no answer is ever too late."""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.decide.effects import (
    BLOCK,
    hold_until_escalation_resolved,
    nest_holds,
    roles_to_ask_for_review,
)
from pipelines.routing.document.escalations import REVIEW, EscalationRule
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.state import HELD, READY, SimulatedEscalation, SimulatedTask


def walk_with_escalation_and_escalation(
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
    escalation_rule = line.escalation_rule(trigger)
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
    walk = walk_with_work_paused_or_resumed(_walk_with_latest_escalation(walk, new), but=index)
    if "convene_review" in escalation_rule.at_once:
        walk = _escalate_to_review_roles(walk, escalation_rule, new)
    return walk, new


def _walk_with_latest_escalation(walk: SimulatedTask, new: SimulatedEscalation) -> SimulatedTask:
    return replace(walk, escalations=(*walk.escalations, new), escalated=new.number)


def walk_with_work_paused_or_resumed(walk: SimulatedTask, but: int | None = None) -> SimulatedTask:
    """Pause the work that has not reported yet for every open escalation that blocks; resume it when there is
    none. `but`: the index of a position that has just reported."""
    wait = nest_holds(
        [
            hold_until_escalation_resolved(escalation.number, escalation.trigger)
            for escalation in walk.escalations
            if escalation.blocks
        ]
    )
    status = HELD if wait else READY
    positions = tuple(
        replace(position, status=status, wait=wait)
        if position.has_work_now_or_when_resumed and index != but
        else position
        for index, position in enumerate(walk.positions)
    )
    return replace(walk, positions=positions)


def _escalate_to_review_roles(
    walk: SimulatedTask, escalation_rule: EscalationRule, of: SimulatedEscalation
) -> SimulatedTask:
    """A role that is asked already is not asked twice."""
    roles = {
        escalation.role
        for escalation in walk.escalations
        if (escalation.trigger, escalation.station) == (REVIEW, of.station)
    }
    for role in roles_to_ask_for_review(escalation_rule.notify, of.role, roles):
        walk = _walk_with_latest_escalation(
            walk, SimulatedEscalation(walk.escalated + 1, REVIEW, role, station=of.station)
        )
    return walk


def walk_without_escalation(walk: SimulatedTask, escalation: SimulatedEscalation) -> SimulatedTask:
    """Close the escalation; work that only it blocked goes on."""
    left = tuple(other for other in walk.escalations if other.number != escalation.number)
    return walk_with_work_paused_or_resumed(replace(walk, escalations=left))
