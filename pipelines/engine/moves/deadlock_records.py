"""Recording a deadlock: its row, an event for each of its tasks, and the notifications (law §8, AEEF E23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves import releases, roles
from pipelines.models import Deadlock, Escalation, Job, Task, Token
from pipelines.ports import observers
from pipelines.queries import versions
from pipelines.routing.decide.deadlocks import CONTRADICTION, SUGGESTIONS

# Handoffs that are told with a deadlock
LAST: Final = 10
HOW: Final = {
    Escalation.How.RETRY: Deadlock.Unlocking.CONTEXT,
    Escalation.How.CANCEL: Deadlock.Unlocking.CANCEL,
    Escalation.How.ENDED: Deadlock.Unlocking.ENDED,
}
"""How a contradiction was resolved, of how its escalation was; by any other word an output was chosen."""
Party = tuple[Task, dict[str, Any]]


def unsaved_deadlock(task: Task, kind: str) -> Deadlock:
    role = versions.parsed_line_by_version_id(task.pinned_id).escalation_rule("deadlock").role
    return Deadlock(id=uuid4(), task=task, kind=kind, suggestion=SUGGESTIONS[kind], role=role)


def save_deadlock_and_notify(
    batch: Batch, record: Deadlock, parties: Sequence[Party], notified: Iterable[str] = ()
) -> None:
    """Save it: from now on its agents get no new work. Tell its tasks and, but for those who are `notified` already,
    the responsible role."""
    tasks = {task.pk: task for task, _party in parties}
    record.parties = [party for _task, party in parties]
    record.agents = sorted({party["agent"] for party in record.parties if party["agent"]})
    record.handoffs = _newest_outputs_of_parties(batch, tasks)
    record.found_at = batch.now
    # Its id was made before it: without a word of this Django would try to update it first
    record.save(force_insert=True)
    record.tasks.set(tasks)
    for task in tasks.values():
        batch.append_event(
            task,
            "deadlock.found",
            ENGINE,
            trigger=record.kind,
            deadlock=str(record.pk),
            parties=record.parties,
            role=record.role,
            suggestion=record.suggestion,
        )
    # Whoever was told of the escalation needs no second message about the same
    known = set(notified)
    to = tuple(
        address
        for address in roles.role_mail_addresses(record.task.project_id, record.role)
        if address not in known
    )
    batch.emit(observers.Alarm("deadlock", record.pk, record.task_id, to, batch.now))


def position_as_deadlock_party(task: Task, token: Token, at: str = "") -> Party:
    """A position with its agent and state; `at`: the station that it is about, if it has been left."""
    key = at or token.station
    station = versions.parsed_line_by_version_id(task.pinned_id).stations_by_key.get(key)
    return task, {
        "task": task.pk,
        "name": task.name,
        "token": token.pk,
        "station": key,
        "agent": station.agent if station else "",
        "status": str(token.status),
        "since": token.entered_at.isoformat(),
    }


def pause_agents_of_contradiction(batch: Batch, opened: Escalation, writers: Mapping[str, Token]) -> None:
    """Pause the agents of the stations that wrote what contradicts itself, until the escalation is resolved.
    `writers`: station -> the token of its branch."""
    record = unsaved_deadlock(opened.task, CONTRADICTION)
    record.escalation = opened
    parties = [position_as_deadlock_party(opened.task, token, at) for at, token in writers.items()]
    save_deadlock_and_notify(
        batch, record, parties, roles.role_mail_addresses(opened.task.project_id, opened.role)
    )


def close_contradiction_and_free_agents(
    batch: Batch, task: Task, escalation: Escalation, actor: Actor | str
) -> None:
    """The escalation is resolved: let the agents work again."""
    for record in Deadlock.objects.filter(escalation=escalation, state=Deadlock.State.OPEN):
        record.resolved_by, record.answer = escalation.resolved_by, escalation.answer
        how = Escalation.How(escalation.how)
        releases.close_deadlock_and_release_others(
            batch, task, actor, record, HOW.get(how, Deadlock.Unlocking.OUTPUT)
        )


def _newest_outputs_of_parties(batch: Batch, tasks: Mapping[int, Task]) -> list[dict[str, Any]]:
    """Return what the parties handed over last: completed stations with their output, newest first."""
    # By their tokens: an index of jobs by task has those of stations alone.
    stored = Job.objects.filter(token__task__in=tasks, state=Job.State.DONE).order_by("-ended_at", "-pk")
    done = {job.pk: job for job in stored[:LAST]}
    # What completed in this transaction is not stored yet.
    own = (job for job in batch.jobs.values() if job.task_id in tasks and job.state == Job.State.DONE)
    done |= {job.pk: job for job in own}
    newest = sorted(done.values(), key=lambda job: (job.ended_at, job.pk), reverse=True)
    return [
        {
            "task": tasks[job.task_id].name,
            "station": job.station,
            "result": job.result,
            "summary": job.summary[:500],
            "handoff": (job.outcome or {}).get("handoff"),
        }
        for job in newest[:LAST]
    ]
