"""Tasks that start because a task of another line has ended: what waits for it, and the one transaction of each start
(law §16)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from procrastinate.types import JSONDict

from pipelines.engine.core.transaction import run_in_transaction
from pipelines.models import Task, Trigger
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports import clock
from pipelines.ports.observers import Consequence, TaskEnded
from pipelines.ports.queue import enqueue_queue_jobs
from pipelines.ports.queue_tasks import START_AFTER
from pipelines.ports.terms import QUICK
from pipelines.work.statements import TRIGGERS_OF_ENDED_TASKS
from pipelines.work.triggers import ended_task
from pipelines.work.triggers.kind import Occasion
from pipelines.work.triggers.line_end import awaited_statuses
from pipelines.work.triggers.starting import FAULT, RELATED, Outcome, start_unless_delivered

GONE: Final = "gone"


class LineEndObserver:
    """Writes a ticket for each trigger that waits for the end of a task. Reads no clock, changes no task (house §1)."""

    hears = (TaskEnded,)

    def handle_consequences(self, batch: Sequence[Consequence]) -> None:
        ended = [event.task_id for event in batch if isinstance(event, self.hears)]
        # Nearly no line has such a trigger: that is asked by one narrow statement.
        [waiting] = execute_all_and_fetch([Statement(TRIGGERS_OF_ENDED_TASKS, [ended])])
        tickets: list[JSONDict] = [{"trigger_id": trigger, "task_id": task} for trigger, task in waiting]
        if tickets:
            # house §2: the queue is in the same database, so a rollback drops these, too.
            enqueue_queue_jobs(START_AFTER, QUICK, *tickets)


def start_task_after_end_and_return_outcome(trigger_id: int, task_id: int) -> str:
    """Start the task that follows an ended one. Told twice, it is started once. Returns the outcome of the delivery, or
    `gone` where the trigger waits for it no longer."""
    return run_in_transaction(partial(_start_task_after_end_and_return_outcome, trigger_id, task_id))


def pause_and_record_fault(trigger_id: int, task_id: int) -> None:
    """Pause a trigger whose start failed by a fault of the server, and record that."""
    run_in_transaction(partial(_pause_and_record_fault, trigger_id, task_id))


def _start_task_after_end_and_return_outcome(trigger_id: int, task_id: int) -> str:
    trigger = _lock_trigger_or_none(trigger_id)
    task = Task.objects.select_related(*ended_task.RELATED).filter(pk=task_id).first()
    if trigger is None or task is None or trigger.source_id != task.line_id:
        return GONE
    if task.status not in awaited_statuses(trigger.options):
        return GONE
    moment = clock.now()
    occasion = Occasion(
        task.name,
        moment.astimezone(ZoneInfo(trigger.line.project.time_zone)),
        "The trigger is paused." if trigger.paused_at else "",
        document=ended_task.task_document(task),
        requesters=ended_task.requesters_and_contributors(task),
        source=task,
    )
    return str(start_unless_delivered(trigger, occasion, moment).outcome)


def _pause_and_record_fault(trigger_id: int, task_id: int) -> None:
    trigger = _lock_trigger_or_none(trigger_id)
    name = Task.objects.select_related("project").get(pk=task_id).name
    if trigger is not None and not trigger.deliveries.filter(key=name).exists():
        moment = clock.now()
        trigger.deliveries.create(key=name, at=moment, outcome=Outcome.FAILED, detail=FAULT)
        trigger.paused_at = moment
        trigger.save(update_fields=["paused_at"])


def _lock_trigger_or_none(trigger_id: int) -> Trigger | None:
    """house §2: the row of the trigger is locked before the number counter and any task."""
    locked = Trigger.objects.select_for_update(of=("self",), no_key=True).select_related(*RELATED)
    return locked.filter(pk=trigger_id).first()
