"""Step 9 of law §5: apply a decision to the task. One function per kind of decision, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.engine.core import version_mapping
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import DecisionContext, settle, situation
from pipelines.engine.core.state import job_ref, merge_counts, token_state
from pipelines.engine.core.values import Actor
from pipelines.engine.moves import escalations, evaluations, gates, handoffs, joins
from pipelines.engine.moves.completion import Ending, end_everything, end_token
from pipelines.engine.moves.job_creation import open_job
from pipelines.engine.moves.releases import CIRCLE
from pipelines.engine.moves.waiting import stay
from pipelines.models import Job, Status, Task, Token
from pipelines.models.plumbing import rows
from pipelines.ports import observers
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Ask, Decision, Escalate, Finish, Move, Stuck, Wait


def apply(turn: DecisionContext, answer: Decision) -> None:
    """Apply the decision and derive the task's status."""
    EFFECTS[type(answer)](turn, answer)
    joins.settle(turn.batch, turn.task, turn.actor, turn.trigger, route, turn)
    turn.batch.settle_status(turn.task)


def meet(batch: Batch, task: Task, actor: Actor | str, trigger: str) -> None:
    """Check joins again: the change may have completed one, or made a branch of it impossible."""
    joins.settle(batch, task, actor, trigger, route)
    batch.settle_status(task)


def route(turn: DecisionContext) -> None:
    """Decide a new outcome and apply the decision."""
    apply(turn, settle(turn, situation(turn)))


def _move(turn: DecisionContext, answer: Move) -> None:
    """To where the targets are in the version under which the next jobs start."""
    to, gone = version_mapping.of(turn.line, turn.job, answer.to)
    if gone:
        message = version_mapping.lost(turn.task, gone)
        stay(
            turn,
            Status.STUCK,
            {"message": message, "rule": answer.rule},
            error=version_mapping.GONE,
            gone=gone,
        )
    elif len(to) > 1:
        _fork(turn, answer, to)
    else:
        _step(turn, answer, to)


def _step(turn: DecisionContext, answer: Move, to: tuple[str, ...]) -> None:
    batch, task, token = turn.batch, turn.task, turn.token
    source, target, place = token.station, to[0], _source(turn)
    data = (
        _counted(turn, answer, to, place)
        | _gathered(turn, answer)
        | version_mapping.said(answer.to, to)
        | _worked(turn)
    )
    token.signal_reworks = effects.reworks_in_a_row(turn.about, answer, token.signal_reworks)
    arrive(token, target, turn)
    job = _enter(turn, token, answer, place, claim=turn.claim, after=turn.after)
    data |= handoffs.hand_on(turn, source, target, job)
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
        job=job_ref(job) if job else None,
        rule=answer.rule,
        by=answer.by,
        **data,
    )
    batch.tell(observers.TaskMoved(task.pk, source, (target,), batch.now))


def arrive(token: Token, station: str, turn: DecisionContext) -> None:
    token.origin = _origin(turn, token, station)
    token.station, token.entered_at = station, turn.batch.now
    token.wait, token.error = {}, ""


def _enter(turn: DecisionContext, token: Token, answer: Move, source: str, **more: Any) -> Job | None:
    """The new job of the token's station; None if it first waits at a join."""
    if turn.line.waits_at(token.station, source):
        joins.arrive(turn, token, source, answer)
        return None
    return open_job(turn.batch, turn.task, token, feedback=answer.feedback or "", **more)


def _source(turn: DecisionContext) -> str:
    """The station the token leaves, under its name in the task's pinned version."""
    return version_mapping.station(turn.line, turn.job, turn.token.station) or turn.token.station


def _origin(turn: DecisionContext, token: Token, target: str) -> str:
    origin = version_mapping.station(turn.line, turn.job, token.origin) or token.origin
    return effects.origin_after(_source(turn), origin, target) or ""


def _fork(turn: DecisionContext, answer: Move, to: tuple[str, ...]) -> None:
    """One child for each target; the forked token is no position until a join puts one in its place (law §7)."""
    batch, task, token = turn.batch, turn.task, turn.token
    data = (
        _counted(turn, answer, to)
        | _gathered(turn, answer)
        | version_mapping.said(answer.to, to)
        | _worked(turn)
    )
    token.forked, token.wait, token.error, token.status = True, {"to": list(to)}, "", Status.QUEUED
    batch.changed(token)
    children, jobs = batch.add_tokens([_child(turn, target) for target in to]), []
    for target, child in zip(to, children, strict=True):
        jobs.append(_enter(turn, child, answer, _source(turn), claim=turn.claim, after=turn.after))
        handoffs.hand_on(turn, token.station, target, jobs[-1])
        batch.changed(child)
    token.wait["branches"] = [child.pk for child in children]
    batch.event(
        task,
        "token.forked",
        turn.actor,
        token=token,
        source=token.station,
        target=",".join(to)[:64],
        trigger=turn.trigger,
        decision=turn.decision,
        tokens=[token_state(each) for each in (token, *children)],
        jobs=[job_ref(job) for job in jobs if job],
        rule=answer.rule,
        by=answer.by,
        **data,
    )
    batch.tell(observers.TaskMoved(task.pk, token.station, to, batch.now))


def _child(turn: DecisionContext, target: str) -> Token:
    now, parent = turn.batch.now, turn.token
    return rows.new(
        Token,
        task=turn.task,
        parent=parent,
        station=target,
        origin=_origin(turn, parent, target),
        version=0,
        entered_at=now,
        changed_at=now,
    )


def _finish(turn: DecisionContext, answer: Finish) -> None:
    data = _counted(turn, answer) | _gathered(turn, answer) | _worked(turn)
    how = Ending(
        kind=answer.end_kind,
        end=answer.end,
        actor=turn.actor,
        trigger=turn.trigger,
        error=answer.error or "",
        reason=turn.reason or effects.reason_of(turn.about, answer),
        decision=turn.decision,
        data={"rule": answer.rule, "by": answer.by, **data},
    )
    ending = end_everything if effects.aborts(turn.about, answer) else end_token
    ending(turn.batch, turn.task, turn.token, how)


def _wait(turn: DecisionContext, answer: Wait) -> None:
    if answer.status == Status.AWAITING_REVIEW:
        gates.ask(turn, answer)
    else:
        _stay(turn, answer, why=evaluations.why_unanswered(turn, answer), **_counted(turn, answer))


def _stay(turn: DecisionContext, answer: effects.Staying, why: str = "", **data: Any) -> None:
    where = effects.staying(answer)
    stay(turn, where.status, {**where.wait, "why": why or None}, error=where.error, **data)
    signal = turn.about.outcome.signal
    if where.wait.get("question") and signal and (signal.get("meta") or {}).get("task"):
        # It now waits for another task, which may wait for this one.
        turn.batch.set_due(CIRCLE, turn.task, turn.batch.now)


def _escalate(turn: DecisionContext, answer: Escalate) -> None:
    """Hold the token until somebody with the role resolves the escalation."""
    opened = escalations.of_token(turn.task, turn.token, answer.trigger) or escalations.open_one(
        turn.batch,
        turn.task,
        turn.judged_by,
        answer.trigger,
        turn.actor,
        token=turn.token,
        role=answer.role or "",
        rule=answer.rule or "",
    )
    where = effects.staying(answer)
    stay(turn, where.status, {**where.wait, "escalation": str(opened.pk)}, error=where.error)


def _counted(
    turn: DecisionContext,
    answer: Move | Finish | Wait,
    lands: tuple[str, ...] | None = None,
    source: str | None = None,
) -> dict[str, Any]:
    """Count visits, edges and the rule, and return the counts for the event (law §5 Counting). `source`: of `_source`,
    where it is known."""
    entered = effects.entered(turn.line, _source(turn) if source is None else source)
    count = effects.counted(turn.about, answer, entered, lands)
    return {"count": merge_counts(turn.task, count)}


def _worked(turn: DecisionContext) -> dict[str, Any]:
    """Which agent did the work of the station that is left, and its trust level at the time (law §9)."""
    station = turn.judged_by.stations_by_key.get(turn.token.station)
    if station is None or not station.agent:
        return {}
    return {
        "agent": station.agent,
        "trust_level": turn.batch.agents.trust(turn.task, station.agent, station.key),
    }


def _gathered(turn: DecisionContext, answer: Move | Finish) -> dict[str, Any]:
    """Set variables and merge the output into the context; return both for the event."""
    task, found = turn.task, effects.gathered(turn.about, answer)
    for name, added in found.items():
        if added:
            setattr(task, name, {**getattr(task, name), **added})
            turn.batch.task_changed(task, name)
    return dict(found)


EFFECTS: dict[type, Callable[[DecisionContext, Any], None]] = {
    Move: _move,
    Finish: _finish,
    Wait: _wait,
    Ask: evaluations.ask,
    Escalate: _escalate,
    Stuck: _stay,
}
