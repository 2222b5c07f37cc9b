"""Step 9 of law §5: apply a decision to the task. One function per kind of decision, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import (
    DecisionContext,
    decide_and_store_decision,
    situation_with_drawn_samples,
)
from pipelines.engine.core.handoffs import (
    agent_or_station_name,
    handoff_name_from_stations,
    last_handoff_added_by_hand_or_none,
)
from pipelines.engine.core.values import (
    Actor,
    add_counts_to_task,
    job_fields_for_event,
    token_fields_for_event,
)
from pipelines.engine.moves import escalations, evaluations, gates, joins
from pipelines.engine.moves.completion import Ending, end_token
from pipelines.engine.moves.job_creation import create_job_of_current_station
from pipelines.engine.moves.releases import CIRCLE
from pipelines.engine.moves.waiting import leave_token_waiting_or_stuck
from pipelines.models import Handoff, Job, Status, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.ports import observers
from pipelines.routing.decide import effects
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Escalate, Finish, Move, Stuck, Wait
from pipelines.routing.decide.transitions import StationEntry, TokenPlace, Transition, decision_transition
from pipelines.routing.document.budgets import STAGE_OWNER
from pipelines.routing.document.escalations import OWNERS_OF
from pipelines.routing.document.handoffs import handoff_faults
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.preconditions import HANDOFF


def apply_decision(context: DecisionContext, answer: DecisionAnswer) -> None:
    """Apply the decision and derive the task's status."""
    EFFECTS[type(answer)](context, answer)
    # law §7: a token that moved or ended may complete a join, or end what it waited for.
    joins.merge_ready_joins(
        context.batch, context.task, context.actor, context.trigger, decide_and_apply, context
    )
    context.batch.derive_and_set_task_status(context.task)


def merge_joins_that_are_ready(batch: Batch, task: Task, actor: Actor | str, trigger: str) -> None:
    """Check the joins of the task again: the change may have completed one, or made one of its branches
    impossible."""
    joins.merge_ready_joins(batch, task, actor, trigger, decide_and_apply)
    batch.derive_and_set_task_status(task)


def decide_and_apply(context: DecisionContext) -> None:
    """Decide a new outcome and apply the decision."""
    apply_decision(context, decide_and_store_decision(context, situation_with_drawn_samples(context)))


def _apply_move(context: DecisionContext, answer: Move) -> None:
    """Move to where the targets are in the version under which the next jobs start."""
    to, gone = current_and_lost_targets(context.pinned_line, context.job, answer.to)
    # The version to which the task was migrated since lacks a target.
    if gone:
        message = lost_station_message(context.task, gone)
        leave_token_waiting_or_stuck(
            context,
            Status.STUCK,
            {"message": message, "rule": answer.rule},
            error=GONE,
            gone=gone,
        )
        return
    change = decision_transition(
        context.subject_before_move, answer, _token_place_in_pinned_version(context), to
    )
    data = (
        _apply_counts_variables_and_output(context, change)
        | decided_targets_if_others(answer.to, to)
        | _agent_and_trust_data(context)
    )
    (_fork_token if len(to) > 1 else _move_to_station)(context, answer, change.entries, data)


def _move_to_station(
    context: DecisionContext, answer: Move, entries: Sequence[StationEntry], data: dict[str, Any]
) -> None:
    batch, task, token = context.batch, context.task, context.token
    # Read before the token stands elsewhere
    source, [entry] = token.station, entries
    move_token_to_entry(batch, token, entry)
    # Before the event, which names the job: the events alone give the rows back (house §3 I2)
    job = _enter_station_or_none(context, token, entry)
    data |= _store_handoff_and_name_it(context, source, entry.station, job)
    batch.mark_token_changed(token)
    batch.append_event(
        task,
        "token.moved",
        context.actor,
        token=token,
        source=source,
        target=entry.station,
        trigger=context.trigger,
        decision=context.decision,
        tokens=[token_fields_for_event(token)],
        job=job_fields_for_event(job) if job else None,
        rule=answer.rule,
        by=answer.by,
        **data,
    )
    batch.emit(observers.TaskMoved(task.pk, source, (entry.station,), batch.now))


def move_token_to_entry(batch: Batch, token: Token, entry: StationEntry) -> None:
    """Put the token at the station that it enters."""
    token.station, token.origin = entry.station, entry.origin or ""
    token.signal_reworks, token.entered_at = entry.signal_reworks, batch.now
    token.wait, token.error = {}, ""


def _enter_station_or_none(context: DecisionContext, token: Token, entry: StationEntry) -> Job | None:
    """The new job of the token's station; None if it first waits at a join."""
    if entry.arrival is not None:
        joins.wait_at_join(context, token, entry.arrival)
        return None
    offer, after = context.offer, context.job_whose_worker_reported
    return create_job_of_current_station(
        context.batch, context.task, token, feedback=entry.feedback, offer=offer, after=after
    )


def _token_place_in_pinned_version(context: DecisionContext) -> TokenPlace:
    """The station the token leaves and its origin, under their names in the task's pinned version."""
    token, line = context.token, context.pinned_line
    station = mapped_station_key_or_none(line, context.job, token.station) or token.station
    origin = mapped_station_key_or_none(line, context.job, token.origin) or token.origin
    # The order is that of the event of this move, which comes next.
    return TokenPlace(line, station, origin or None, token.signal_reworks, context.task.seq + 1)


def _fork_token(
    context: DecisionContext, answer: Move, entries: Sequence[StationEntry], data: dict[str, Any]
) -> None:
    """Make one child for each target; the forked token is no position until a join puts one in its place (law §7)."""
    batch, task, token = context.batch, context.task, context.token
    to = tuple(entry.station for entry in entries)
    token.forked, token.wait, token.error, token.status = True, {"to": list(to)}, "", Status.QUEUED
    batch.mark_token_changed(token)
    # Written at once and before their jobs: jobs and events name a token by its id
    children, jobs = batch.add_tokens([_new_child_token(context, entry) for entry in entries]), []
    for entry, child in zip(entries, children, strict=True):
        # house §2: the first branch that the reporting worker may take goes on with it.
        jobs.append(_enter_station_or_none(context, child, entry))
        # Its name is dropped: the event of a fork has room for one, and each branch has its own
        _store_handoff_and_name_it(context, token.station, entry.station, jobs[-1])
        batch.mark_token_changed(child)
    token.wait["branches"] = [child.pk for child in children]
    batch.append_event(
        task,
        "token.forked",
        context.actor,
        token=token,
        source=token.station,
        # The column has 64 characters; `tokens` has every branch.
        target=",".join(to)[:64],
        trigger=context.trigger,
        decision=context.decision,
        tokens=[token_fields_for_event(changed_token) for changed_token in (token, *children)],
        jobs=[job_fields_for_event(job) for job in jobs if job],
        rule=answer.rule,
        by=answer.by,
        **data,
    )
    batch.emit(observers.TaskMoved(task.pk, token.station, to, batch.now))


def _store_handoff_and_name_it(
    context: DecisionContext, source: str, target: str, to: Job | None
) -> dict[str, Any]:
    """Store the handoff document of a move, and return its name for the event; nothing if there is none."""
    document, by = (context.job.outcome or {}).get("handoff"), str(context.actor)
    needs = HANDOFF in context.judging_line.requirements_of(source)
    added = last_handoff_added_by_hand_or_none(context.job) if needs else None
    if added is not None:
        # A person was asked for it because that of the outcome was missing or faulty
        document, by = added.document, added.by
    if document is None:
        return {}
    names = (
        agent_or_station_name(context.judging_line, source),
        agent_or_station_name(context.pinned_line, target),
    )
    schema = context.judging_line.handoff_schema(source)
    handoff = Handoff(
        task=context.task,
        job=context.job,
        to=to,
        name=handoff_name_from_stations(*names, context.batch.now),
        source=names[0],
        target=names[1],
        document=document,
        faults=[str(fault) for fault in handoff_faults(document, schema)],
        by=by[:200],
        at=context.batch.now,
    )
    context.batch.add_handoff(handoff)
    return {"handoff": handoff.name}


def _new_child_token(context: DecisionContext, entry: StationEntry) -> Token:
    now, parent = context.batch.now, context.token
    return bulk_rows.new_row(
        Token,
        task=context.task,
        parent=parent,
        station=entry.station,
        origin=entry.origin or "",
        version=0,
        entered_at=now,
        changed_at=now,
    )


def _apply_finish(context: DecisionContext, answer: Finish) -> None:
    change = decision_transition(context.subject_before_move, answer, _token_place_in_pinned_version(context))
    ended = change.ended
    assert ended is not None
    how = Ending(
        # Law §5: the reason of who rejects is stored and visible, before all that the outcome says
        ended if not context.reason else replace(ended, reason=context.reason),
        context.actor,
        context.trigger,
        context.decision,
        {
            "rule": answer.rule,
            "by": answer.by,
            **_apply_counts_variables_and_output(context, change),
            **_agent_and_trust_data(context),
        },
    )
    end_token(context.batch, context.task, context.token, how)


def _apply_stay(context: DecisionContext, answer: Wait | Stuck) -> None:
    change = decision_transition(context.subject_before_move, answer, _token_place_in_pinned_version(context))
    where = change.stays
    assert where is not None
    if isinstance(answer, Wait) and where.status == Status.AWAITING_REVIEW:
        gates.open_visits_of_gates_or_hold(context, answer, where)
        return
    why = evaluations.reason_machine_did_not_answer(context, answer) if isinstance(answer, Wait) else ""
    wait = {**where.wait, "why": why or None}
    leave_token_waiting_or_stuck(
        context, where.status, wait, error=where.error, **_apply_counts_variables_and_output(context, change)
    )
    signal = context.subject_before_move.outcome.deciding_signal
    if where.wait.get("question") and signal and (signal.get("meta") or {}).get("task"):
        # It now waits for another task, which may wait for this one.
        context.batch.schedule_due_time(CIRCLE, context.task, context.batch.now)


def _apply_escalation(context: DecisionContext, answer: Escalate) -> None:
    """Hold the token until somebody with the role resolves the escalation."""
    # The same trigger at the same position again: whoever is asked already is not notified twice
    opened = escalations.find_open_escalation(
        context.task, context.token, answer.trigger
    ) or escalations.open_escalation(
        context.batch,
        context.task,
        context.judging_line,
        answer.trigger,
        context.actor,
        token=context.token,
        role=_role_or_owner_to_ask(context, answer),
        rule=answer.rule or "",
    )
    where = effects.stay_of_decision(answer)
    leave_token_waiting_or_stuck(
        context, where.status, {**where.wait, "escalation": str(opened.pk)}, error=where.error
    )


def _role_or_owner_to_ask(context: DecisionContext, answer: Escalate) -> str:
    """Return who is asked: for the owner of a stage those who answer for its agents (law §8)."""
    line, station = context.judging_line, context.token.station
    if answer.role != STAGE_OWNER or station not in line.stations_by_key:
        return answer.role or ""
    agents = line.station(line.stage_key(station)).agents or line.station(station).agents
    return OWNERS_OF + ",".join(agents) if agents else STAGE_OWNER


def _apply_counts_variables_and_output(context: DecisionContext, change: Transition) -> dict[str, Any]:
    """Add up the counters, set variables and merge the output into the context; all of it for the event (law §5)."""
    for name, added in change.stored.items():
        if added:
            setattr(context.task, name, {**getattr(context.task, name), **added})
            # By name: these columns are large, and a move that leaves them alone does not write them
            context.batch.mark_task_changed(context.task, name)
    return {"count": add_counts_to_task(context.task, change.count), **change.stored}


def _agent_and_trust_data(context: DecisionContext) -> dict[str, Any]:
    """Name the agent that did the work of the station that is left, and its trust level at the time (law §9)."""
    station = context.judging_line.stations_by_key.get(context.token.station)
    if station is None or not station.agent:
        return {}
    return {
        "agent": station.agent,
        "trust_level": context.batch.agents.trust_level(context.task, station.agent, station.key),
    }


EFFECTS: dict[type, Callable[[DecisionContext, Any], None]] = {
    Move: _apply_move,
    Finish: _apply_finish,
    Wait: _apply_stay,
    Ask: evaluations.create_question_job_or_ask_person,
    Escalate: _apply_escalation,
    Stuck: _apply_stay,
}


GONE = "StationGone"
"""The error of a move to a station that the task's version does not have."""


def mapped_station_key_or_none(line: ParsedLine, job: Job, key: str) -> str | None:
    """The station's key in `line`, the task's version; None if it no longer exists."""
    key = job.mapping.get(key, key)
    return key if key in line.stations_by_key else None


def current_and_lost_targets(
    line: ParsedLine, job: Job, targets: tuple[str, ...]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the targets of a move by their keys in the current version, each once, and the targets that no
    longer exist."""
    places = {target: mapped_station_key_or_none(line, job, target) for target in targets}
    gone = [target for target, place in places.items() if place is None]
    return tuple(dict.fromkeys(place for place in places.values() if place)), gone


def decided_targets_if_others(targets: tuple[str, ...], entered_stations: tuple[str, ...]) -> dict[str, Any]:
    """Return, for the event, the targets as they were decided, if they differ from where the task went."""
    return {} if targets == entered_stations else {"decided": list(targets)}


def lost_station_message(task: Task, missing_stations: list[str]) -> str:
    return (
        f"The next station ({', '.join(missing_stations)}) is not part of version {task.pinned.number},"
        " to which this task was migrated."
    )
