"""Escalations: what is open keeps its task from going forward, and all that they hold is let go (I10, I11, I17)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pipelines.engine.core.agent_capacity import FACTS
from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.engine.moves.pausing import WORKING
from pipelines.engine.moves.releases import RESUME
from pipelines.models import (
    ENDED,
    Deadlock,
    Decision,
    Escalation,
    Event,
    GateVisit,
    Incident,
    Status,
    Token,
)
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.decide.effects import BLOCK, flatten_holds
from pipelines.routing.decide.steps.preconditions import NO_ESCALATION

Ids = Sequence[int] | None
EVENT_KINDS = ("escalation.opened", "escalation.breached", "escalation.resolved")


def escalation_consistency_violations(task_ids: Ids) -> Iterable[Violation]:
    """I11: a task counts the escalations that are open; each was told once of opening, of its breach and of its
    resolution; an incident is kept where one that was not answered in time asks for it; none outlives its task, nor
    the review that it is about (I8)."""
    for record in task_records(task_ids, "events", "escalated", "visits"):
        still = [one for one in record.escalated if one.state == Escalation.State.OPEN]
        if record.task.escalations != len(still):
            yield record.violation(
                "I11", f"counts {record.task.escalations} open escalations, there are {len(still)}"
            )
        if still and record.task.status in ENDED:
            yield record.violation("I8", f"escalation {still[0].pk} is open although its task has ended")
        counts = Counter((e.kind, e.data["escalation"]) for e in record.events if e.kind in EVENT_KINDS)
        for one in record.escalated:
            expected = (1, int(one.breached_at is not None), int(one.state == Escalation.State.RESOLVED))
            actual = tuple(counts[kind, str(one.pk)] for kind in EVENT_KINDS)
            if actual != expected:
                yield record.violation("I11", f"escalation {one.pk} was told {actual} times, not {expected}")
            if one.breached_at and (one.due_at is None or one.breached_at < one.due_at):
                yield record.violation("I11", f"escalation {one.pk} was breached before it was due")
        over = {visit.pk for visit in record.visits if visit.state != GateVisit.State.OPEN}
        for one in still:
            if one.visit_id in over:
                yield record.violation("I8", f"escalation {one.pk} is open although its review is over")
        yield from _missing_incident_violations(record)


def _missing_incident_violations(record: TaskRecord) -> Iterable[Violation]:
    expected = {one.pk for one in record.escalated if one.breached_at and "create_incident" in one.on_breach}
    if not expected:
        return
    incidents = set(Incident.objects.filter(task=record.task.pk).values_list("escalation", flat=True))
    for pk in sorted(expected - incidents, key=str):
        yield record.violation("I11", f"no incident is kept of the breach of escalation {pk}")


def work_while_blocked_violations(task_ids: Ids) -> Iterable[Violation]:
    """I10: while an escalation is open that blocks its task since its breach, nothing of the task is queued for work
    or works (law §8)."""
    for record in task_records(task_ids, "tokens", "escalated"):
        blocks = [
            one.pk
            for one in record.escalated
            if one.state == Escalation.State.OPEN and one.breached_at and BLOCK in one.on_breach
        ]
        for token in record.tokens if blocks else ():
            works = token.status in WORKING and not token.forked and not token.waits_at_join
            if works:
                yield record.violation(
                    "I10", f"token {token.pk} is {token.status}, escalation {blocks[0]} blocks it"
                )


def forward_move_while_escalated_violations(task_ids: Ids) -> Iterable[Violation]:
    """I10: no rule, policy or gate led forward while an escalation was open (law §8). By hand a station is
    only run again."""
    for record in task_records(task_ids, "events", "decisions"):
        decisions = {decision.pk: decision for decision in record.decisions}
        still = 0
        for event in record.events:
            decision = decisions.get(event.decision_id) if event.decision_id else None
            if still and decision and _is_forward_move(decision, event):
                yield record.violation(
                    "I10", f"event {event.seq} went forward while {still} escalations were open"
                )
            # Only now: an event tells how many are open after it.
            still = event.data.get("escalations", still)


def _is_forward_move(decision: Decision, event: Event) -> bool:
    line = versions.parsed_line_by_version_id(decision.pinned_id)
    if event.kind == "token.ended":
        end = line.ends_by_key.get(event.target)
        return end is not None and end.kind == "completed"
    if event.kind not in ("token.moved", "token.forked"):
        return False
    here = line.index_of_station(decision.station)
    return any(line.index_of_station(to) > here for to in decision.answer["to"])


def hold_without_cause_violations(task_ids: Ids) -> Iterable[Violation]:
    """I17: a token held by an escalation or a deadlock is held by an open one, or has a due time that releases
    it; so is a token held only because something is escalated. An open escalation with a time limit has its due
    time until it is breached."""
    for record in task_records(task_ids, "tokens", "dues", "escalated"):
        still = {str(one.pk): one for one in record.escalated if one.state == Escalation.State.OPEN}
        timed = {due.key for due in record.dues if due.kind == "escalation"}
        for key, one in still.items():
            if one.due_at and not one.breached_at and key not in timed:
                yield record.violation(
                    "I17", f"escalation {key} is to be answered in time and nothing would tell"
                )
        for key in timed - set(still):
            yield record.violation("I8", f"a due time is kept for the escalation {key}, which is resolved")
        for token in record.tokens:
            only = token.status == Status.HELD and token.wait.get("missing") == [NO_ESCALATION]
            if only and not still and not _is_to_be_decided_again(record, token):
                yield record.violation("I17", f"token {token.pk} is held for an escalation, and none is open")
        going_on = {due.key for due in record.dues if due.kind == RESUME}
        yield from _stale_hold_violations(
            record, {*still, *_ids_of_open_deadlocks_of_task(record), *going_on}
        )


def _is_to_be_decided_again(record: TaskRecord, token: Token) -> bool:
    return any(due.kind == FACTS and due.token_id == token.pk for due in record.dues)


def _ids_of_open_deadlocks_of_task(record: TaskRecord) -> set[str]:
    """Open deadlocks to which it is party."""
    if not any("deadlock" in wait for token in record.tokens for wait in flatten_holds(token.wait)):
        return set()
    deadlocks = Deadlock.objects.filter(tasks=record.task.pk, state=Deadlock.State.OPEN)
    return {str(pk) for pk in deadlocks.values_list("pk", flat=True)}


def _stale_hold_violations(record: TaskRecord, still: set[str]) -> Iterable[Violation]:
    for token in record.tokens:
        waits = flatten_holds(token.wait)
        for holds in (wait.get(name) for wait in waits for name in ("escalation", "paused_by")):
            if holds and holds not in still:
                yield record.violation("I17", f"token {token.pk} is held by {holds}, which is not open")
