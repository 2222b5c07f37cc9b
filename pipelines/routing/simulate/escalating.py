"""Escalations of a walk as they open and close: what they do to the task itself. Mail, incidents and the suspension of
agents are no part of a walk, and neither is time: no answer is ever too late."""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.escalations import REVIEW, EscalationRule
from pipelines.routing.model import Line
from pipelines.routing.simulate.state import HELD, READY, Escalation, Walk


def opened(
    line: Line, walk: Walk, trigger: str, index: int | None = None, *, role: str = "", rule: str = ""
) -> tuple[Walk, Escalation]:
    """As the line says for this trigger. `index`: of the position where it arises, whose own status is not touched;
    `role`: another one that is named by what escalates."""
    said = line.escalation(trigger)
    position = walk.positions[index] if index is not None else None
    new = Escalation(
        walk.escalated + 1,
        trigger,
        role or said.role,
        position.token if position else 0,
        position.station if position else "",
        rule,
    )
    walk = _with(walk, new)
    for action in said.at_once:
        if action == "block":
            walk = _paused(walk, new, index)
        elif action == "convene_review":
            walk = _convened(walk, said, new)
    return walk, new


def _with(walk: Walk, new: Escalation) -> Walk:
    return replace(walk, escalations=(*walk.escalations, new), escalated=new.number)


def _paused(walk: Walk, by: Escalation, but: int | None) -> Walk:
    """All work is held that has not reported yet."""
    wait = {"paused_by": by.number, "trigger": by.trigger}
    positions = tuple(
        replace(each, status=HELD, wait=wait) if each.status == READY and each.here and index != but else each
        for index, each in enumerate(walk.positions)
    )
    return replace(walk, positions=positions)


def _convened(walk: Walk, said: EscalationRule, of: Escalation) -> Walk:
    for role in said.notify or (of.role,):
        walk = _with(walk, Escalation(walk.escalated + 1, REVIEW, role, station=of.station))
    return walk


def closed(walk: Walk, escalation: Escalation) -> Walk:
    """What it paused goes on."""
    left = tuple(each for each in walk.escalations if each.number != escalation.number)
    positions = tuple(
        replace(each, status=READY, wait={}) if each.wait.get("paused_by") == escalation.number else each
        for each in walk.positions
    )
    return replace(walk, escalations=left, positions=positions)
