"""What one step of a scenario does: by the very same `decide`, counted by the very same `consequences` as in
production. A walk never changes; every step gives the next one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing import consequences
from pipelines.routing.consequences import About, added_up
from pipelines.routing.decide import decide
from pipelines.routing.deciding.gates import JUMP_GATE, RANK
from pipelines.routing.decisions import Ask, Decision, Finish, Move, Wait
from pipelines.routing.joining.branches import Write
from pipelines.routing.model import Gate, Line
from pipelines.routing.problems import Malformed
from pipelines.routing.reported import read_outcome
from pipelines.routing.simulate import joins
from pipelines.routing.simulate.scenario import Step
from pipelines.routing.simulate.state import (
    BLOCKED,
    HELD,
    READY,
    REVIEW,
    Asked,
    Decided,
    Position,
    StepRefused,
    Taken,
    Walk,
)
from pipelines.routing.situation import JUMP, assumed, read_situation

APPROVE, REJECT, SEND_BACK = "approve", "reject", "send_back"
RETRIED = ("stuck", BLOCKED, HELD)


def take(line: Line, walk: Walk, step: Step) -> Taken:
    """One step further. Raises StepRefused where it cannot happen."""
    index = _where(walk, step)
    try:
        return TAKERS[step.kind](line, walk, index, step)
    except Malformed as fault:
        raise StepRefused(str(fault)) from None


def _where(walk: Walk, step: Step) -> int:
    if walk.over:
        raise StepRefused(f"the walk is over: it ended at {walk.end}")
    if step.at is None:
        return walk.present
    found = [i for i, each in enumerate(walk.positions) if each.station == step.at and each.here]
    if not found:
        standing = ", ".join(each.station for each in walk.positions if each.here)
        raise StepRefused(f"no token stands at {step.at}, but at {standing}")
    return found[0]


# What happens


def _outcome(line: Line, walk: Walk, index: int, step: Step) -> Taken:
    position = walk.positions[index]
    _needs(position, (READY,), "an outcome")
    situation = _fresh(line, walk, index, step.outcome, step.missing)
    if step.answers:
        situation["facts"]["answers"] = list(step.answers)
    return _decide(line, walk, index, situation)


def _fresh(
    line: Line, walk: Walk, index: int, outcome: Mapping[str, Any], missing: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The situation of an outcome that nothing was decided about yet."""
    situation = walk.situation(line, index, outcome)
    situation["facts"]["preconditions"] = assumed(line, situation["station"], outcome, missing)
    return situation


def _gates(line: Line, walk: Walk, index: int, step: Step) -> Taken:
    """Words that are said together: the first other than approve decides at once, approvals when all are there."""
    position = walk.positions[index]
    _needs(position, (REVIEW,), "words at gates")
    asked = position.asked
    assert asked is not None and isinstance(asked.decision, Wait)
    for key, word in step.gates.items():
        _check_word(line, walk, asked, key, word)
    so_far, words = walk.facts(line, index), {**asked.words, **step.gates}
    walk = _recorded(line, walk, position, step.gates)
    against = sorted(
        (word["decision"] for word in step.gates.values() if word["decision"] != APPROVE), key=RANK.index
    )
    if not against and any(key not in words for key in asked.decision.gates):
        waiting = replace(position, asked=replace(asked, words=words))
        return Taken(_put(walk, index, waiting), position.station)
    facts = consequences.told(asked.situation["facts"], so_far, words)
    again = {**asked.situation, "facts": facts}
    return _decide(line, walk, index, again, against[0] if against else "", asked.decision.rule)


def _check_word(line: Line, walk: Walk, asked: Asked, key: str, word: Mapping[str, str]) -> None:
    open_gates = [each for each in getattr(asked.decision, "gates", ()) if each not in asked.words]
    if key not in open_gates:
        raise StepRefused(f"gate {key} is not open here, but {', '.join(open_gates)}")
    gate = _gate(line, key)
    if word["decision"] not in gate.offers:
        raise StepRefused(f"gate {key} does not offer {word['decision']}, but {', '.join(gate.offers)}")
    if word["decision"] == SEND_BACK and walk.rounds.get(key, 0) >= gate.approval.max_rounds:
        raise StepRefused(f"gate {key} was sent back {gate.approval.max_rounds} times already")


def _gate(line: Line, key: str) -> Gate:
    return JUMP_GATE if key == JUMP else line.gate(key)


def _recorded(line: Line, walk: Walk, position: Position, words: Mapping[str, Mapping[str, str]]) -> Walk:
    rounds = {key: 1 for key, word in words.items() if word["decision"] == SEND_BACK}
    said = {key: (word["decision"], _shown(line, position, key)) for key, word in words.items()}
    return replace(walk, rounds=added_up(walk.rounds, rounds), last_words={**walk.last_words, **said})


def _shown(line: Line, position: Position, gate: str) -> dict[str, Any]:
    """What is asked about. A scripted outcome leaves no artifacts, so that they never differ."""
    asked = position.asked
    assert asked is not None and isinstance(asked.decision, Wait)
    outcome = asked.situation["outcome"]
    digest = json.dumps(outcome.get("output"), sort_keys=True, default=str)
    return consequences.shown_at(line, position.station, asked.decision, gate, outcome, digest)


def _answers(line: Line, walk: Walk, index: int, step: Step) -> Taken:
    """A person's or a machine's answer to the evaluation that is asked: decided again on the same situation."""
    position = walk.positions[index]
    if position.asked is None or not position.wait.get("evaluation"):
        raise StepRefused(f"{_standing(position)}: no evaluation is asked")
    facts = position.asked.situation["facts"]
    for each in step.answers:
        facts = consequences.answered(facts, each)
    if line.forbidden_parallel:
        facts = {**facts, "beside": walk.beside(index)}
    return _decide(line, walk, index, {**position.asked.situation, "facts": facts})


def _answer(line: Line, walk: Walk, index: int, step: Step) -> Taken:
    position = walk.positions[index]
    _needs(position, (BLOCKED,), "an answer")
    if position.wait.get("evaluation"):
        raise StepRefused("an evaluation is asked: say `answers`, not `answer`")
    return _run_again(walk, index, step.answer)


def _retry(line: Line, walk: Walk, index: int, step: Step) -> Taken:
    position = walk.positions[index]
    _needs(position, RETRIED, "a retry")
    return _run_again(walk, index, position.feedback)


def _run_again(walk: Walk, index: int, feedback: str) -> Taken:
    """Counts as a visit, but binds no budget (semantics §5 Counting)."""
    old = walk.positions[index]
    again = Position(old.station, origin=old.origin, feedback=feedback, within=old.within, wrote=old.wrote)
    counted = replace(walk, visits=added_up(walk.visits, {old.station: 1}))
    return Taken(_put(counted, index, again), old.station, entered=(old.station,))


def _needs(position: Position, statuses: tuple[str, ...], what: str) -> None:
    if position.status not in statuses:
        raise StepRefused(f"{_standing(position)}: {what} cannot come now")


def _standing(position: Position) -> str:
    if position.status == READY:
        return f"{position.station} has not reported yet"
    gates = position.wait.get("gates")
    at = f" at {', '.join(gates)}" if gates else ""
    return f"{position.station} is {position.status}{at}{f' ({position.error})' if position.error else ''}"


TAKERS = {"outcome": _outcome, "gates": _gates, "answers": _answers, "answer": _answer, "retry": _retry}


# What follows


def _decide(
    line: Line,
    walk: Walk,
    index: int,
    situation: dict[str, Any],
    word: str = "",
    asked_rule: str | None = None,
) -> Taken:
    walk = replace(walk, clock=walk.clock + 1)
    position = walk.positions[index]
    decision = decide(line, read_situation(situation))
    outcome = read_outcome(situation["outcome"])
    about = About(
        line, position.station, position.origin, outcome, word, asked_rule, unreadable=walk.unreadable
    )
    walk, rules = _counted(line, walk, about, decision)
    if isinstance(decision, Move):
        position = _having_written(walk, position, about, decision)
        new = tuple(
            joins.placed(line, walk, _entered(walk, position, about, decision, target), about, decision)
            for target in decision.to
        )
        walk = replace(walk, positions=(*walk.positions[:index], *new, *walk.positions[index + 1 :]))
        entered = tuple(each.station for each in new if each.arrival is None)
        return _joined(line, Taken(walk, position.station, decision, entered, rules))
    if isinstance(decision, Finish):
        walk = _finished(walk, index, about, decision)
        return _joined(line, Taken(walk, position.station, decision, (), rules))
    stayed = _stayed(line, walk, position, situation, decision)
    return _joined(line, Taken(_put(walk, index, stayed), position.station, decision, (), rules))


def _joined(line: Line, taken: Taken) -> Taken:
    """With every join that can be decided by now; what is no pass is routed at once."""
    while any(each.arrival for each in taken.walk.positions):
        met = joins.meet(line, taken.walk)
        if met is None:
            break
        decided = Decided(met.merge.station, met.merge, met.contradictions)
        entered = (*taken.entered, *((met.merge.station,) if met.entered else ()))
        if not met.judged:
            taken = replace(taken, walk=met.walk, entered=entered, joined=(*taken.joined, decided))
            continue
        then = _decide(line, met.walk, met.index, _fresh(line, met.walk, met.index, met.merge.outcome()))
        taken = replace(
            taken,
            walk=then.walk,
            entered=(*entered, *then.entered),
            rules=(*taken.rules, *then.rules),
            joined=(*taken.joined, replace(decided, decision=then.decision), *then.joined),
        )
    return taken


def _having_written(walk: Walk, position: Position, about: About, decision: Move) -> Position:
    values = consequences.gathered(about, decision)["context"]
    return replace(position, wrote=(*position.wrote, Write(walk.clock, values))) if values else position


def _counted(line: Line, walk: Walk, about: About, decision: Decision) -> tuple[Walk, tuple[str, ...]]:
    if not isinstance(decision, Move | Finish | Wait):
        return walk, ()
    if isinstance(decision, Wait) and decision.status == REVIEW:
        return walk, ()
    count = consequences.counted(about, decision, consequences.entered(line, about.station))
    kept = {} if isinstance(decision, Wait) else consequences.gathered(about, decision)
    added: dict[str, Any] = {name: added_up(getattr(walk, name), more) for name, more in count.items()}
    added |= {name: {**getattr(walk, name), **more} for name, more in kept.items() if more}
    return replace(walk, **added), tuple(count["rules"])


def _entered(walk: Walk, position: Position, about: About, decision: Move, target: str) -> Position:
    alone = len(decision.to) == 1
    return Position(
        station=target,
        origin=consequences.origin_after(position.station, position.origin, target),
        signal_reworks=consequences.reworks_in_a_row(about, decision, position.signal_reworks)
        if alone
        else 0,
        feedback=decision.feedback or "",
        within=joins.within(walk, position, decision),
        wrote=position.wrote,
    )


def _finished(walk: Walk, index: int, about: About, decision: Finish) -> Walk:
    """An end inside a branch ends that branch only; abort ends them all (semantics §7)."""
    everything = consequences.aborts(about, decision)
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


def _stayed(line: Line, walk: Walk, position: Position, situation: dict[str, Any], decision: Any) -> Position:
    where = consequences.staying(decision)
    wait = {key: value for key, value in where.wait.items() if value not in (None, [], ())}
    asked = Asked(situation, decision) if isinstance(decision, Wait | Ask) else None
    stayed = replace(position, status=where.status, wait=wait, error=where.error, asked=asked)
    rejected = _rejected_before(line, walk, stayed)
    if rejected:
        return replace(stayed, status=HELD, wait={**wait, "rejection": {"gate": rejected}}, asked=None)
    return stayed


def _rejected_before(line: Line, walk: Walk, position: Position) -> str:
    """The gate whose last word was a reject about the very same: an unchanged question is not asked again (§6)."""
    if position.status != REVIEW:
        return ""
    for gate in position.wait["gates"]:
        word, about = walk.last_words.get(gate, ("", {}))
        if word == REJECT and about == _shown(line, position, gate):
            return str(gate)
    return ""


def _put(walk: Walk, index: int, position: Position) -> Walk:
    return walk.put(index, position)
