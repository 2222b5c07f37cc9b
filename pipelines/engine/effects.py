"""Step 9 of semantics §5: what a decision does to the task. One function per kind of decision, in one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from pipelines import ports
from pipelines.engine import gates
from pipelines.engine.ending import Ending, end_everything, end_token
from pipelines.engine.opening import open_job
from pipelines.engine.state import job_ref, merge_counts, token_state
from pipelines.engine.turn import Turn
from pipelines.engine.waiting import stay
from pipelines.models import Status, Token
from pipelines.routing.line import BLOCKED, ORIGIN
from pipelines.routing.outcome import Ask, Decision, Escalate, Finish, Move, Stuck, Wait


def apply(turn: Turn, answer: Decision) -> None:
    """Do what was decided, and give the task the status that follows."""
    EFFECTS[type(answer)](turn, answer)
    turn.batch.settle_status(turn.task)


def _move(turn: Turn, answer: Move) -> None:
    if len(answer.to) > 1:
        _fork(turn, answer)
    else:
        _step(turn, answer)


def _step(turn: Turn, answer: Move) -> None:
    batch, task, token = turn.batch, turn.task, turn.token
    source, target = token.station, answer.to[0]
    data = _counted(turn, answer, answer.to) | _gathered(turn, answer)
    token.signal_reworks = _reworks_in_a_row(turn, answer)
    arrive(token, target, turn)
    job = open_job(batch, task, token, feedback=answer.feedback or "", claim=turn.claim, after=turn.job)
    batch.changed(token)
    batch.event(
        task,
        "token.moved",
        turn.actor,
        token=token,
        source=source,
        target=target,
        trigger=turn.trigger,
        decision=turn.decision,
        tokens=[token_state(token)],
        job=job_ref(job),
        rule=answer.rule,
        by=answer.by,
        **data,
    )
    batch.tell(ports.TaskMoved(task.pk, source, (target,), batch.now))


def arrive(token: Token, station: str, turn: Turn) -> None:
    """Self-loops and re-runs do not change the origin (semantics §1, `@origin`)."""
    if station != token.station:
        token.origin = token.station
    token.station, token.entered_at = station, turn.batch.now
    token.wait, token.error = {}, ""


def _fork(turn: Turn, answer: Move) -> None:
    """One child for each target; the forked token is no position until a join puts one in its place (semantics §7)."""
    batch, task, token = turn.batch, turn.task, turn.token
    data = _counted(turn, answer, answer.to) | _gathered(turn, answer)
    token.forked, token.wait, token.error, token.status = True, {}, "", Status.QUEUED
    batch.changed(token)
    children, jobs = [], []
    for target in answer.to:
        child = batch.add_token(_child(turn, target))
        jobs.append(open_job(batch, task, child, feedback=answer.feedback or ""))
        batch.changed(child)
        children.append(child)
    batch.event(
        task,
        "token.forked",
        turn.actor,
        token=token,
        source=token.station,
        target=",".join(answer.to)[:64],
        trigger=turn.trigger,
        decision=turn.decision,
        tokens=[token_state(each) for each in (token, *children)],
        jobs=[job_ref(job) for job in jobs],
        rule=answer.rule,
        by=answer.by,
        **data,
    )
    batch.tell(ports.TaskMoved(task.pk, token.station, tuple(answer.to), batch.now))


def _child(turn: Turn, target: str) -> Token:
    now, parent = turn.batch.now, turn.token
    origin = parent.station if target != parent.station else parent.origin
    return Token(
        task=turn.task,
        parent=parent,
        station=target,
        origin=origin,
        version=0,
        entered_at=now,
        changed_at=now,
    )


def _finish(turn: Turn, answer: Finish) -> None:
    data = _counted(turn, answer, (answer.end,)) | _gathered(turn, answer)
    how = Ending(
        kind=answer.end_kind,
        end=answer.end,
        actor=turn.actor,
        trigger=turn.trigger,
        error=answer.error or "",
        reason=turn.reason,
        decision=turn.decision,
        data={"rule": answer.rule, "by": answer.by, **data},
    )
    ending = end_everything if _aborts(turn, answer) else end_token
    ending(turn.batch, turn.task, turn.token, how)


def _wait(turn: Turn, answer: Wait) -> None:
    if answer.status == Status.AWAITING_REVIEW:
        gates.ask(turn, answer)
    else:
        taken = _counted(turn, answer, (BLOCKED,)) if answer.status == Status.BLOCKED else {}
        stay(turn, answer.status, _waiting(answer), **taken)


def _ask(turn: Turn, answer: Ask) -> None:
    """Nobody evaluates by machine yet: a person's answer is the fact, never a silent advance (ALP A26)."""
    stay(turn, Status.BLOCKED, {"evaluation": dict(answer.evaluation)})


def _escalate(turn: Turn, answer: Escalate) -> None:
    stay(turn, Status.HELD, {"trigger": answer.trigger, "rule": answer.rule})


def _stuck(turn: Turn, answer: Stuck) -> None:
    stay(turn, Status.STUCK, {"message": answer.message, "rule": answer.rule}, error=answer.error)


def _waiting(answer: Wait) -> dict[str, Any]:
    said = answer.to_dict()
    return {key: said.get(key) for key in ("gates", "to", "rule", "question", "missing", "evaluation")}


def _counted(turn: Turn, answer: Move | Finish | Wait, targets: tuple[str, ...]) -> dict[str, Any]:
    """Count visits, edges and the rule, and say for the event what was counted (semantics §5 Counting)."""
    source = turn.token.station
    stations = [target for target in targets if target in turn.line.stations_by_key]
    count: dict[str, dict[str, int]] = {
        "visits": dict(Counter(stations)),
        "edges": {} if targets == (BLOCKED,) else dict(Counter(f"{source}->{target}" for target in targets)),
        "rules": {answer.rule: 1} if answer.rule and takes_rule(turn, answer, targets) else {},
    }
    return {"count": merge_counts(turn.task, count)}


def takes_rule(turn: Turn, answer: Move | Finish | Wait, targets: tuple[str, ...]) -> bool:
    """Whether the rule that the decision names was taken, or only led to a policy, a budget's target or a person's
    word: a breach does not move by its rule, nor does what was said at its gate."""
    if getattr(answer, "by", "") == "policy" or (turn.word and answer.rule == turn.asked_rule):
        return False
    found = turn.judged_by.rules_by_id.get(answer.rule or "")
    return found is not None and _resolved(found[1].to, turn.token) == tuple(targets)


def _resolved(to: tuple[str, ...], token: Token) -> tuple[str, ...]:
    return tuple(token.origin if each == ORIGIN else each for each in to)


def _gathered(turn: Turn, answer: Move | Finish) -> dict[str, Any]:
    """Set variables, and merge the output into the context: objects only, later overwrites earlier, outputs of
    failed stations do not count (semantics §5 step 9)."""
    task, output = turn.task, (turn.job.outcome or {}).get("output")
    context = output if isinstance(output, dict) and not turn.failed else {}
    variables = dict(answer.variables) if isinstance(answer, Move) else {}
    if context:
        task.context = {**task.context, **context}
        turn.batch.task_changed(task, "context")
    if variables:
        task.variables = {**task.variables, **variables}
        turn.batch.task_changed(task, "variables")
    return {"context": context, "variables": variables}


def _reworks_in_a_row(turn: Turn, answer: Move) -> int:
    followed = answer.by == "signal" and turn.signal == "rework"
    return turn.token.signal_reworks + 1 if followed else 0


def _aborts(turn: Turn, answer: Finish) -> bool:
    """Abort ends the whole task, whichever branch says it (semantics §7)."""
    if turn.word:
        return turn.word == "abort"
    if answer.by == "signal":
        return turn.signal == "abort"
    return answer.by == "gate" and not takes_rule(turn, answer, (answer.end,))


EFFECTS: dict[type, Callable[[Turn, Any], None]] = {
    Move: _move,
    Finish: _finish,
    Wait: _wait,
    Ask: _ask,
    Escalate: _escalate,
    Stuck: _stuck,
}
