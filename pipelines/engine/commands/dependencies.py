"""Dependencies between tasks: a task does no work until the tasks it depends on are completed (law §8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from pipelines.engine.commands import deadlocks
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves.pausing import WORKING, hold_token_and_its_job, release_matching_holds
from pipelines.engine.moves.releases import CIRCLE
from pipelines.engine.statements import LOCK_DEPENDENCIES
from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.models import ENDED, Dependency, Due, Job, Project, Status, Task, Token
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports import observers
from pipelines.routing.decide.deadlocks import shortest_wait_cycle_through
from pipelines.routing.decide.effects import (
    LOST,
    TURN,
    flatten_holds,
    hold_until_tasks_complete,
    is_hold_by_dependency,
    nest_holds,
)

MOST = 50


def tasks_named_in_project(project: Project, names: Sequence[str], path: str = "depends_on") -> list[Task]:
    """Return the tasks of the project with these names, such as `WI-app-7`. Raises Invalid with the place of
    the one that does not exist."""
    if len(names) > MOST:
        raise Invalid.at(path, f"more than {MOST} tasks are listed")
    tasks = []
    for index, name in enumerate(dict.fromkeys(names)):
        start, _, number = name.rpartition("-")
        # Any 18 digits fit a bigint.
        known = start == f"WI-{project.key}" and number.isascii() and number.isdigit() and len(number) < 19
        task = Task.objects.filter(project=project, number=int(number)).first() if known else None
        if task is None:
            raise Invalid.at(f"{path}[{index}]", f"there is no task {name[:80]} in this project")
        tasks.append(task)
    return tasks


def wait_for_tasks(task_id: int, names: Sequence[str], *, actor: Actor) -> Task:
    """Make a task wait for others. A job that is already running finishes; no further job starts.

    Raises NotFound, Conflict (it has ended), Invalid (path `depends_on[…]`).
    """
    task = first_row_or_raise_not_found(Task.objects.select_related("project").filter(pk=task_id))
    others = tasks_named_in_project(task.project, names)
    if any(other.pk == task.pk for other in others):
        raise Invalid.at("depends_on", "a task cannot wait for itself")
    return run_in_transaction(partial(_wait_for_tasks, task, others, actor))


def _wait_for_tasks(task: Task, others: list[Task], actor: Actor) -> Task:
    # house §2: before any task is locked
    _lock_dependencies(task.project_id)
    circle_ids = _task_ids_of_would_be_circle(task.project_id, task.pk, *others)
    batch = Batch.of_tasks(task.pk, *(other.pk for other in others), *circle_ids)
    task = batch.tasks[task.pk]
    if task.status in ENDED:
        raise Conflict("This task has already ended.", at=task.ended_at)
    # Read under the lock: a task read earlier may be completed by now and would no longer release anybody.
    record_dependencies(batch, task, [batch.tasks[other.pk] for other in others], actor)
    deadlocks.open_deadlock_for_new_circle(batch, task, [batch.tasks[pk] for pk in circle_ids])
    batch.flush()
    return task


def _task_ids_of_would_be_circle(project_id: int, task_id: int, *others: Task) -> list[int]:
    """The tasks of the circle that would form if this task also waited for these others."""
    waits = open_awaited_ids_by_waiting_id(project_id)
    # As if they were recorded: a circle is found before it is there
    waits[str(task_id)] |= {str(other.pk) for other in others}
    return [int(pk) for pk in shortest_wait_cycle_through(waits, str(task_id))]


def ids_of_others_in_circle(task_id: int) -> list[int]:
    """Return the ids of the other tasks that `detect_circle_at_due_time` has to lock. A circle that closes meanwhile is
    detected by the transaction that closes it."""
    project_id = Task.objects.values_list("project_id", flat=True).get(pk=task_id)
    _lock_dependencies(project_id)
    return _task_ids_of_would_be_circle(project_id, task_id)


def detect_circle_at_due_time(batch: Batch, due: Due) -> None:
    """Handle due times of kind `circle`: this task asked another task a question."""
    task = batch.tasks[due.task_id]
    circle_ids = _task_ids_of_would_be_circle(task.project_id, task.pk)
    if set(circle_ids) <= set(batch.tasks):
        deadlocks.open_deadlock_for_new_circle(batch, task, [batch.tasks[pk] for pk in circle_ids])
    else:
        # The circle changed before its tasks were locked: look again, with all of them.
        batch.schedule_due_time(CIRCLE, task, batch.now)
    batch.flush()


def _lock_dependencies(project_id: int) -> None:
    """Serialise changes of dependencies, so that two that close a circle together see each other. Call before locking
    any task."""
    # Two that close a circle together must see each other
    execute(LOCK_DEPENDENCIES, [project_id])


def record_dependencies(batch: Batch, task: Task, others: Sequence[Task], actor: Actor) -> None:
    """Write the dependency rows, and hold every job of the task that has not started."""
    rows = [Dependency(task=task, on=other, made_at=batch.now) for other in others]
    Dependency.objects.bulk_create(rows, ignore_conflicts=True)
    new = {other.name: str(other.status) for other in others if other.status != Status.COMPLETED}
    names = {**batch.unmet.get(task.pk, {}), **new}
    for token in batch.living_tokens(task) if new else ():
        job = batch.open_job_or_none(token)
        # law §12: a job that runs goes on to its end while a dependency is open.
        if job is not None and (job.state == Job.State.QUEUED or job.kind in UNLEASED):
            _hold_for_dependencies(batch, task, token, job, actor, names)


def wait_for_free_place_among(
    batch: Batch, task: Task, ahead: Mapping[int, str], room: int, actor: Actor
) -> None:
    """Let a new task wait until fewer than `room` of those ahead, {id: name}, are open. They are locked."""
    rows = [Dependency(task=task, on_id=pk, made_at=batch.now, room=room) for pk in ahead]
    Dependency.objects.bulk_create(rows, ignore_conflicts=True)
    names = {**batch.unmet.get(task.pk, {}), **dict.fromkeys(ahead.values(), TURN)}
    batch.unmet[task.pk] = names
    for token in batch.living_tokens(task):
        job = batch.open_job_or_none(token)
        if job is not None:
            _hold_for_dependencies(batch, task, token, job, actor, names)


def _hold_for_dependencies(
    batch: Batch, task: Task, token: Token, job: Job, actor: Actor, names: dict[str, str]
) -> None:
    """Hold the token for these tasks, in addition to any other hold. A dependency that can no longer complete is
    reported: a person decides."""
    if token.status in WORKING:
        hold_token_and_its_job(batch, task, token, job, actor, hold_until_tasks_complete(names))
    elif token.status == Status.HELD:
        # Those are said anew: some of them may be completed by now
        others = [wait for wait in flatten_holds(token.wait) if not is_hold_by_dependency(wait)]
        hold_token_and_its_job(
            batch, task, token, job, actor, nest_holds([*others, hold_until_tasks_complete(names)])
        )
    if LOST in hold_until_tasks_complete(names):
        batch.emit(observers.TaskWaits(task.pk, token.pk, token.status, "", batch.now))


def hold_or_release_by_dependencies(batch: Batch, due: Due) -> None:
    """Handle due times of kind `dependency`: a task that this one waits for has ended, or is no longer waited for."""
    task = batch.tasks[due.task_id]
    names = batch.unmet.get(task.pk)
    for token in batch.living_tokens(task):
        job = batch.open_job_or_none(token)
        if not names:
            release_matching_holds(batch, task, token, ENGINE, is_hold_by_dependency)
        elif job and any(map(is_hold_by_dependency, flatten_holds(token.wait))):
            _hold_for_dependencies(batch, task, token, job, ENGINE, names)
    batch.flush()


def open_awaited_ids_by_waiting_id(project_id: int) -> defaultdict[str, set[str]]:
    """Return which open task of a project waits for which others."""
    rows = Dependency.objects.filter(task__project=project_id).exclude(task__status__in=ENDED)
    # Of several whose turn it is first any may end: none of them closes a circle by itself.
    rows = rows.exclude(room__gt=1)
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for waits, on in rows.exclude(on__status__in=ENDED).values_list("task_id", "on_id"):
        edges[str(waits)].add(str(on))
    # Whoever asks another task waits for it as well, so that both kinds may make one circle
    for waits, on in deadlocks.asking_and_asked_task_ids(project_id):
        edges[str(waits)].add(str(on))
    return edges
