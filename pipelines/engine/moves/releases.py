"""Release what waits for a task that has ended: tasks that depend on it and the parties of its deadlocks. Each is
released by its own due time, because each needs its own row lock."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import Actor
from pipelines.models import ENDED, Deadlock, Dependency, Due, Status, Task, User
from pipelines.ports import due_notices, observers

DEPENDENCY = "dependency"
"""The kind of due time at which a dependency may be met; its key is the id of the other task."""
CIRCLE = "circle"
"""The kind of due time that checks whether a task waits for itself in a circle."""
RESUME = "resume"
"""The kind of due time at which a party of a resolved deadlock continues; its key is the deadlock's."""


def release_tasks_waiting_for(batch: Batch, task: Task, actor: Actor | str) -> None:
    """Release what waits for a task that has ended."""
    # One query of the batch says it of all its tasks, and for nearly all of them nobody waits
    if task.pk not in batch.task_ids_others_may_wait_for:
        return
    waiting = Dependency.objects.filter(on=task.pk).exclude(task__status__in=ENDED)
    _insert_due_times_for_now(batch, waiting.values_list("task_id", flat=True), DEPENDENCY, str(task.pk))
    for deadlock in Deadlock.objects.filter(tasks=task.pk, state=Deadlock.State.OPEN):
        close_deadlock_and_release_others(batch, task, actor, deadlock, Deadlock.Unlocking.ENDED)


def drop_open_dependencies(batch: Batch, task: Task, user: User) -> None:
    """Stop waiting for dependencies that are not completed, for all branches, because a person says so: that opens
    the circles that they close."""
    waiting = Dependency.objects.filter(task=task.pk).exclude(on__status=Status.COMPLETED)
    awaited = list(waiting.values_list("on_id", flat=True))
    waiting.delete()
    _release_circles(batch, task, user, "", Deadlock.objects.filter(tasks__in=awaited))
    # By a due time: what this batch knows of dependencies was read before they were deleted
    batch.schedule_due_time(DEPENDENCY, task, batch.now, key="released")


def release_circles_of_answered_question(batch: Batch, task: Task, user: User, text: str) -> None:
    """Release the circle of tasks that the answered question closed, unless the task waits for more."""
    _release_circles(batch, task, user, text, Deadlock.objects.all())


def _release_circles(
    batch: Batch, task: Task, user: User, text: str, among: QuerySet[Deadlock, Deadlock]
) -> None:
    circles = among.filter(pk__in=batch.circles.get(task.pk, ())).distinct()
    for deadlock in circles:
        deadlock.resolved_by, deadlock.answer = user, text
        close_deadlock_and_release_others(
            batch, task, str(Actor.person(user)), deadlock, Deadlock.Unlocking.CONTEXT
        )
        batch.schedule_due_time(RESUME, task, batch.now, key=str(deadlock.pk))
        batch.schedule_due_time(CIRCLE, task, batch.now)


def close_deadlock_and_release_others(
    batch: Batch, task: Task, actor: Actor | str, deadlock: Deadlock, how: str
) -> None:
    """Close a deadlock that this task resolves, and release its other parties."""
    save_deadlock_as_resolved(batch, deadlock, how)
    batch.append_event(
        task, "deadlock.resolved", actor, trigger=deadlock.kind, deadlock=str(deadlock.pk), how=how
    )
    others = deadlock.tasks.exclude(pk=task.pk).exclude(status__in=ENDED)
    _insert_due_times_for_now(batch, others.values_list("pk", flat=True), RESUME, str(deadlock.pk))


def save_deadlock_as_resolved(batch: Batch, deadlock: Deadlock, how: str) -> None:
    deadlock.state, deadlock.how, deadlock.resolved_at = Deadlock.State.RESOLVED, how, batch.now
    deadlock.save(update_fields=["state", "how", "answer", "resolved_by", "resolved_at"])
    for circles in batch.circles.values():
        if str(deadlock.pk) in circles:
            circles.remove(str(deadlock.pk))
    batch.emit(observers.AlarmSettled(deadlock.pk, deadlock.task_id, batch.now))
    batch.agents.mark_agents_freed_from_deadlock(deadlock.task.project_id, deadlock.agents)


def _insert_due_times_for_now(batch: Batch, task_ids: Iterable[int], kind: str, key: str) -> None:
    rows = [Due(task_id=pk, kind=kind, key=key, set_at=batch.now, due_at=batch.now) for pk in task_ids]
    # Written without the locks of these tasks: the same time may be there already.
    if Due.objects.bulk_create(rows, ignore_conflicts=True):
        due_notices.announce_due_times_on_commit()
