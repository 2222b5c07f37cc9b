"""What follows from an outcome in a walk: decided by the very same `decide`, counted by the very same `consequences`
as in production."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.redecide.recorded import again, said
from pipelines.routing.basics import jsontext
from pipelines.routing.decide import effects
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Ask, Decision, Escalate, Finish, Move, Wait
from pipelines.routing.decide.effects import DecisionSubject, added_up
from pipelines.routing.decide.joining.branches import Write
from pipelines.routing.decide.judging import judged
from pipelines.routing.decide.situation import assumed, read_situation
from pipelines.routing.document.model import Line
from pipelines.routing.simulate import escalating, joins
from pipelines.routing.simulate.state import (
    HELD,
    REVIEW,
    Decided,
    OpenReview,
    SimulatedPosition,
    SimulatedTask,
    Taken,
)

REJECT = "reject"


def fresh(
    line: Line, walk: SimulatedTask, index: int, outcome: Mapping[str, Any], missing: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The situation of an outcome that nothing was decided about yet."""
    situation = walk.situation(line, index, outcome)
    situation["facts"]["preconditions"] = assumed(line, situation["station"], outcome, missing)
    return situation


def decided(
    line: Line,
    walk: SimulatedTask,
    index: int,
    situation: dict[str, Any],
    word: str = "",
    asked_rule: str | None = None,
) -> Taken:
    walk = replace(walk, clock=walk.clock + 1)
    position = walk.positions[index]
    read = read_situation(situation)
    decision = decide(line, read)
    outcome = judged(line, line.station(read.station), read.outcome, read.facts.spent).outcome
    about = DecisionSubject(
        line, position.station, position.origin, outcome, word, asked_rule, unreadable=walk.unreadable
    )
    walk, rules = _counted(line, walk, about, decision)
    if isinstance(decision, Move):
        position = _having_written(walk, position, about, decision)
        new = tuple(
            joins.placed(line, walk, _entered(walk, position, about, decision, target), about, decision)
            for target in decision.to
        )
        walk, new = _numbered(walk, position, new)
        positions = (*walk.positions[:index], *new, *walk.positions[index + 1 :])
        walk = escalating.blocked(replace(walk, positions=positions))
        entered = tuple(each.station for each in new if each.arrival is None)
        return joined(line, Taken(walk, position.station, decision, entered, rules))
    if isinstance(decision, Finish):
        walk = settled(_finished(walk, index, about, decision))
        return joined(line, Taken(walk, position.station, decision, (), rules))
    if isinstance(decision, Escalate):
        walk = _escalated(line, walk, index, situation, decision)
        return joined(line, Taken(walk, position.station, decision, (), rules))
    stayed = _stayed(line, walk, position, situation, decision)
    return joined(line, Taken(walk.put(index, stayed), position.station, decision, (), rules))


def joined(line: Line, taken: Taken) -> Taken:
    """With every join that can be decided by now; what is no pass is routed at once."""
    while any(each.arrival for each in taken.walk.positions):
        met = joins.meet(line, taken.walk)
        if met is None:
            break
        met_there = Decided(met.merge.station, met.merge, met.contradictions)
        entered = (*taken.entered, *((met.merge.station,) if met.entered else ()))
        if not met.judged:
            taken = replace(taken, walk=met.walk, entered=entered, joined=(*taken.joined, met_there))
            continue
        then = decided(line, met.walk, met.index, fresh(line, met.walk, met.index, met.merge.outcome()))
        taken = replace(
            taken,
            walk=then.walk,
            entered=(*entered, *then.entered),
            rules=(*taken.rules, *then.rules),
            joined=(*taken.joined, replace(met_there, decision=then.decision), *then.joined),
        )
    return taken


def _numbered(
    walk: SimulatedTask, position: SimulatedPosition, new: tuple[SimulatedPosition, ...]
) -> tuple[SimulatedTask, tuple[SimulatedPosition, ...]]:
    """A token keeps its number; those that it forks into have new ones, and a join may give it back."""
    if len(new) == 1:
        return walk, new
    children = tuple(replace(each, token=walk.tokens + n) for n, each in enumerate(new, 1))
    forked = {**walk.forked, walk.clock: position.token}
    return replace(walk, tokens=walk.tokens + len(new), forked=forked), children


def _escalated(
    line: Line, walk: SimulatedTask, index: int, situation: dict[str, Any], decision: Escalate
) -> SimulatedTask:
    """Held until somebody of the role resolves it; nobody is told twice of the same."""
    position = walk.positions[index]
    same = (position.token, decision.trigger)
    found = next((each for each in walk.escalations if (each.token, each.trigger) == same), None)
    if found is None:
        role, rule = decision.role or "", decision.rule or ""
        walk, found = escalating.opened(line, walk, decision.trigger, index, role=role, rule=rule)
    stayed = _stayed(line, walk, position, situation, decision)
    return walk.put(index, replace(stayed, wait={**stayed.wait, "escalation": found.number}))


def _having_written(
    walk: SimulatedTask, position: SimulatedPosition, about: DecisionSubject, decision: Move
) -> SimulatedPosition:
    values = effects.gathered(about, decision)["context"]
    return replace(position, wrote=(*position.wrote, Write(walk.clock, values))) if values else position


def _counted(
    line: Line, walk: SimulatedTask, about: DecisionSubject, decision: Decision
) -> tuple[SimulatedTask, tuple[str, ...]]:
    if not isinstance(decision, Move | Finish | Wait):
        return walk, ()
    if isinstance(decision, Wait) and decision.status == REVIEW:
        return walk, ()
    count = effects.counted(about, decision, effects.entered(line, about.station))
    kept = {} if isinstance(decision, Wait) else effects.gathered(about, decision)
    added: dict[str, Any] = {name: added_up(getattr(walk, name), more) for name, more in count.items()}
    added |= {name: {**getattr(walk, name), **more} for name, more in kept.items() if more}
    return replace(walk, **added), tuple(count["rules"])


def _entered(
    walk: SimulatedTask, position: SimulatedPosition, about: DecisionSubject, decision: Move, target: str
) -> SimulatedPosition:
    alone = len(decision.to) == 1
    return SimulatedPosition(
        station=target,
        origin=effects.origin_after(position.station, position.origin, target),
        signal_reworks=effects.reworks_in_a_row(about, decision, position.signal_reworks) if alone else 0,
        feedback=decision.feedback or "",
        within=joins.within(walk, position, decision),
        wrote=position.wrote,
        token=position.token,
    )


def _finished(walk: SimulatedTask, index: int, about: DecisionSubject, decision: Finish) -> SimulatedTask:
    """An end inside a branch ends that branch only; abort ends them all (law §7)."""
    everything = effects.aborts(about, decision)
    ended = tuple(
        replace(
            each,
            status=decision.end_kind,
            end=decision.end,
            error=decision.error or "",
            wait={},
            asked=None,
            arrival=None,
        )
        if i == index or (everything and not each.over)
        else each
        for i, each in enumerate(walk.positions)
    )
    return replace(walk, positions=ended)


def settled(walk: SimulatedTask) -> SimulatedTask:
    """Terminal is final: nothing is open any more."""
    return replace(walk, escalations=()) if walk.over else walk


def _stayed(
    line: Line, walk: SimulatedTask, position: SimulatedPosition, situation: dict[str, Any], decision: Any
) -> SimulatedPosition:
    where = effects.staying(decision)
    wait = {key: value for key, value in where.wait.items() if value not in (None, [], ())}
    asked = OpenReview(situation, decision) if isinstance(decision, Wait | Ask | Escalate) else None
    stayed = replace(position, status=where.status, wait=wait, error=where.error, asked=asked)
    rejected = _rejected_before(line, walk, stayed)
    if rejected:
        return replace(stayed, status=HELD, wait={**wait, "rejection": {"gate": rejected}}, asked=None)
    return stayed


def _rejected_before(line: Line, walk: SimulatedTask, position: SimulatedPosition) -> str:
    """The gate whose last word was a reject about the very same: an unchanged question is not asked again (§6)."""
    if position.status != REVIEW:
        return ""
    for gate in position.wait["gates"]:
        word, about = walk.last_words.get(gate, ("", {}))
        if word == REJECT and about == shown(line, position, gate):
            return str(gate)
    return ""


# The same once more


def once_more(line: Line, walk: SimulatedTask, index: int) -> dict[str, Any]:
    """The situation by which a position is held, by the facts of now."""
    asked = walk.positions[index].asked
    assert asked is not None
    return {
        **asked.situation,
        "facts": effects.once_more(asked.situation["facts"], walk.now(line, index)),
    }


def reconsidered(line: Line, taken: Taken) -> Taken:
    """Every token that was held for something missing is decided again; where the same would come out it stays."""
    for token in [each.token for each in taken.walk.positions if each.lacks]:
        index = taken.walk.index_of(token)
        if index is not None and taken.walk.positions[index].lacks:
            situation = once_more(line, taken.walk, index)
            if differs(line, taken.walk.positions[index], situation):
                taken = taken.then(decided(line, taken.walk, index, situation))
    return taken


def differs(line: Line, position: SimulatedPosition, situation: Mapping[str, Any]) -> bool:
    """Whether something else than what holds it would be decided."""
    assert position.asked is not None
    return said(again(line, situation)) != said(position.asked.decision)


def run_again(walk: SimulatedTask, index: int, feedback: str, at: str = "") -> Taken:
    """Counts as a visit, but binds no budget (law §5 Counting). `at`: another station than its own."""
    old = walk.positions[index]
    station = at or old.station
    new = SimulatedPosition(
        station,
        origin=effects.origin_after(old.station, old.origin, station),
        feedback=feedback,
        within=old.within,
        wrote=old.wrote,
        token=old.token,
    )
    counted = replace(walk, visits=added_up(walk.visits, {station: 1}))
    return Taken(escalating.blocked(counted.put(index, new)), old.station, entered=(station,))


def shown(line: Line, position: SimulatedPosition, gate: str) -> dict[str, Any]:
    """What is asked about. A scripted outcome leaves no artifacts, so that they never differ."""
    asked = position.asked
    assert asked is not None and isinstance(asked.decision, Wait)
    outcome = asked.situation["outcome"]
    digest = jsontext.dumps(outcome.get("output"), sort_keys=True)
    return effects.shown_at(line, position.station, asked.decision, gate, outcome, digest)
