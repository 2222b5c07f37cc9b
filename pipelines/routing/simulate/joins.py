"""Branches of a walk that wait at a join, and what becomes of them together: decided as in production, by
`routing/decide/branch_joins`."""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.decide.branch_joins.branches import Branch, Fork, Write
from pipelines.routing.decide.branch_joins.context_merge import contradicting_keys, contradicting_values
from pipelines.routing.decide.branch_joins.join_decision import (
    PASS,
    Merge,
    accounted_branches_and_replaces_fork,
    first_decidable_merge_or_none,
)
from pipelines.routing.decide.transitions import join_transition
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate import walk_escalations
from pipelines.routing.simulate.state import (
    DecidedJoin,
    PassedVisit,
    SimulatedPosition,
    SimulatedTask,
    StepRecord,
)


def unended_branches(walk: SimulatedTask) -> list[Branch]:
    """Number them by the index of their position."""
    return [
        Branch(index, position.station, position.within, position.arrival)
        for index, position in enumerate(walk.positions)
        if not position.is_over
    ]


def merge_next_join_into_record_and_index_or_none(
    line: ParsedLine, walk: SimulatedTask
) -> tuple[StepRecord, int] | None:
    """Apply the first join that can be decided; return its record and the index of the merged position, or
    None.

    The station is entered, to report or for the outcome of the join, unless it may not begin there.
    """
    merge = first_decidable_merge_or_none(line, unended_branches(walk))
    if merge is None:
        return None
    arrived = [walk.positions[index] for index in merge.arrived]
    ends = {
        index: (position.station, position.status)
        for index, position in enumerate(walk.positions)
        if position.is_over and merge.fork in position.within
    }
    counted, takes_place = accounted_branches_and_replaces_fork(line, merge, ends)
    gone = {*merge.arrived, *(ends if takes_place else counted)}
    # Where the first of them stood, among those that are left
    index = sum(i not in gone for i in range(min(merge.arrived)))
    left = [position for i, position in enumerate(walk.positions) if i not in gone]
    forks = _remaining_forks(arrived[0], merge, takes_place)
    walk, token = _walk_and_number_of_merged_token(walk, merge, arrived[0], takes_place)
    one = SimulatedPosition(
        # Sources stand in the order of arriving: the last one completed the join.
        merge.station,
        origin=merge.sources[-1],
        within=forks,
        wrote=_merged_writes(arrived),
        past=_merged_past(arrived),
        token=token,
    )
    walk = replace(walk, positions=(*left[:index], one, *left[index:]))
    writes = _writes_by_branch_since_fork(arrived, merge)
    keys = contradicting_keys(writes) if len(arrived) > 1 else ()
    change = join_transition(
        merge, line, contradicting_values(keys, merge.sources, writes), walk.other_stations(index)
    )
    walk = walk.with_changes(change)
    if change.stays is not None:
        wait = change.stays.wait
        if wait.get("trigger"):
            walk, opened = walk_escalations.walk_with_escalation_and_escalation(
                line, walk, wait["trigger"], index
            )
            wait = {**wait, "escalation": opened.number}
        stayed = replace(one, status=change.stays.status, wait=wait, error=change.stays.error)
        walk = walk.with_position(index, stayed)
    elif merge.verdict == PASS:
        walk = walk_escalations.walk_with_work_paused_or_resumed(walk)
    join = DecidedJoin(merge.station, merge, keys)
    entered = (merge.station,) if change.stays is None else ()
    return StepRecord(walk, merge.station, entered=entered, joined=(join,)), index


def _walk_and_number_of_merged_token(
    walk: SimulatedTask, merge: Merge, first: SimulatedPosition, takes_place: bool
) -> tuple[SimulatedTask, int]:
    """Number the merged position: as the fork whose place it takes, else one of its own."""
    if merge.fork is None:
        return walk, first.token
    if takes_place:
        # As the engine does (law §7): the merged token goes on in the place of the forked one
        return walk, walk.forked[merge.fork.id]
    return replace(walk, tokens=walk.tokens + 1), walk.tokens + 1


def _remaining_forks(arrived: SimulatedPosition, merge: Merge, takes_place: bool) -> tuple[Fork, ...]:
    if merge.fork is None:
        return ()
    place = arrived.within.index(merge.fork)
    return arrived.within[: place if takes_place else place + 1]


def _merged_writes(arrived: list[SimulatedPosition]) -> tuple[Write, ...]:
    every = {write.order: write for position in arrived for write in position.wrote}
    return tuple(every[order] for order in sorted(every))


def _merged_past(arrived: list[SimulatedPosition]) -> tuple[PassedVisit, ...]:
    every = {passed.order: passed for position in arrived for passed in position.past}
    return tuple(every[order] for order in sorted(every))


def _writes_by_branch_since_fork(arrived: list[SimulatedPosition], merge: Merge) -> list[list[Write]]:
    """Leave out what was written before the fork: it is common to all."""
    # The id of a fork is the clock of the decision that forked (`walk_decisions`).
    since = merge.fork.id if merge.fork else 0
    return [[w for w in position.wrote if w.order > since] for position in arrived]
