"""Branches of a walk that wait at a join, and what becomes of them together: decided as in production, by
`routing/joining`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.decide.decisions import Move
from pipelines.routing.decide.effects import DecisionSubject, added_up
from pipelines.routing.decide.joining.branches import Arrival, Branch, Fork, Write
from pipelines.routing.decide.joining.context import contradictions, merged
from pipelines.routing.decide.joining.joining import PASS, Merge, accounts_for, due
from pipelines.routing.decide.steps.targets import FORBIDDEN
from pipelines.routing.document.model import Line
from pipelines.routing.simulate import escalating
from pipelines.routing.simulate.state import HELD, SimulatedPosition, SimulatedTask

CONTRADICTION = "contradiction"


@dataclass(frozen=True, slots=True)
class Met:
    """One join that was decided. `index`: of the merged position; `judged`: its outcome is to be routed; `entered`: its
    station is, for that or to report. Else it may not begin."""

    walk: SimulatedTask
    merge: Merge
    index: int
    contradictions: tuple[str, ...] = ()
    entered: bool = True

    @property
    def judged(self) -> bool:
        return self.merge.verdict != PASS


def branches(walk: SimulatedTask) -> list[Branch]:
    """By the index of their position."""
    return [
        Branch(index, each.station, each.within, each.arrival)
        for index, each in enumerate(walk.positions)
        if not each.over
    ]


def placed(
    line: Line, walk: SimulatedTask, position: SimulatedPosition, about: DecisionSubject, answer: Move
) -> SimulatedPosition:
    """A position that has just left `about.station`: it waits where that is what its join waits for."""
    if not line.waits_at(position.station, about.station):
        return position
    arrival = Arrival(about.station, answer.standing, walk.clock, about.outcome.failure_type or "")
    return replace(position, arrival=arrival, feedback="")


def within(walk: SimulatedTask, position: SimulatedPosition, answer: Move) -> tuple[Fork, ...]:
    """The forks that a target's position is a branch of."""
    if len(answer.to) == 1:
        return position.within
    return (*position.within, Fork(walk.clock, position.station, answer.to))


def meet(line: Line, walk: SimulatedTask) -> Met | None:
    """The first join that can be decided, done; None if there is none."""
    merge = due(line, branches(walk))
    if merge is None:
        return None
    arrived = [walk.positions[index] for index in merge.arrived]
    over = [i for i, each in enumerate(walk.positions) if each.over and merge.fork in each.within]
    counted = [i for i in over if accounts_for(line, merge, walk.positions[i].station)]
    untold = [i for i in over if i not in counted and walk.positions[i].status != "completed"]
    takes_place = merge.fork is None or (merge.alone and not untold)
    gone = {*merge.arrived, *(over if takes_place else counted)}
    index = sum(i not in gone for i in range(min(merge.arrived)))
    left = [each for i, each in enumerate(walk.positions) if i not in gone]
    forks = _forks(arrived[0], merge, takes_place)
    walk, token = _token(walk, merge, arrived[0], takes_place)
    one = SimulatedPosition(
        merge.station, origin=merge.sources[-1], within=forks, wrote=_wrote(arrived), token=token
    )
    walk = replace(walk, positions=(*left[:index], one, *left[index:]))
    writes = _since(arrived, merge)
    keys = contradictions(writes) if len(arrived) > 1 else ()
    said = [merged([each]) for each in writes]
    values = {
        source: {key: each[key] for key in keys if key in each}
        for source, each in zip(merge.sources, said, strict=True)
    }
    return _begun(line, walk, merge, index, keys, values)


def _token(
    walk: SimulatedTask, merge: Merge, first: SimulatedPosition, takes_place: bool
) -> tuple[SimulatedTask, int]:
    """Of the merged position: that of the fork whose place it takes, else one of its own."""
    if merge.fork is None:
        return walk, first.token
    if takes_place:
        return walk, walk.forked[merge.fork.id]
    return replace(walk, tokens=walk.tokens + 1), walk.tokens + 1


def _forks(arrived: SimulatedPosition, merge: Merge, takes_place: bool) -> tuple[Fork, ...]:
    if merge.fork is None:
        return ()
    place = arrived.within.index(merge.fork)
    return arrived.within[: place if takes_place else place + 1]


def _begun(
    line: Line,
    walk: SimulatedTask,
    merge: Merge,
    index: int,
    keys: tuple[str, ...],
    values: dict[str, dict[str, Any]],
) -> Met:
    """`values`: what each branch says under the keys that they contradict each other under."""
    if merge.verdict == PASS:
        position = walk.positions[index]
        pairs = [set(pair) for pair in line.forbidden_parallel]
        if keys and line.policy.contradiction == "escalate":
            walk, found = escalating.opened(line, walk, CONTRADICTION, index)
            wait = {
                "trigger": CONTRADICTION,
                "keys": list(keys),
                "escalation": found.number,
                "values": values,
            }
            held = replace(position, status=HELD, wait=wait)
            return Met(walk.put(index, held), merge, index, keys, entered=False)
        other = next((each for each in walk.beside(index) if {merge.station, each} in pairs), "")
        if other:
            wait = {"message": f"{merge.station} and {other} must never run in parallel."}
            stuck = replace(position, status="stuck", wait=wait, error=FORBIDDEN)
            return Met(walk.put(index, stuck), merge, index, keys, entered=False)
    visited = replace(walk, visits=added_up(walk.visits, {merge.station: 1}))
    begun = escalating.blocked(visited) if merge.verdict == PASS else visited
    return Met(begun, merge, index, keys)


def _wrote(arrived: list[SimulatedPosition]) -> tuple[Write, ...]:
    every = {write.order: write for each in arrived for write in each.wrote}
    return tuple(every[order] for order in sorted(every))


def _since(arrived: list[SimulatedPosition], merge: Merge) -> list[list[Write]]:
    """What was written before the fork is common to all."""
    since = merge.fork.id if merge.fork else 0
    return [[w for w in each.wrote if w.order > since] for each in arrived]
