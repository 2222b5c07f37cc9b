"""Tasks that wait for tasks: a task does no work before those that it depends on are completed (semantics §8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from django.db import connection

from pipelines.engine import deadlocks
from pipelines.engine.batch import Batch
from pipelines.engine.errors import Conflict, Invalid, NotFound
from pipelines.engine.pause import WORKING, hold, resume
from pipelines.engine.transaction import run
from pipelines.engine.unleased import UNLEASED
from pipelines.engine.values import ENGINE, Actor
from pipelines.models import ENDED, Dependency, Due, Job, Project, Status, Task
from pipelines.routing.deadlocks import circle

MOST = 50
FOR = "depends_on"
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('gateline.dependencies'), %s)"


def named(project: Project, names: Sequence[str], path: str = "depends_on") -> list[Task]:
    """The tasks of the project with these names, `WI-app-7`. Raises Invalid with the place."""
    if len(names) > MOST:
        raise Invalid.at(path, f"are more than {MOST}")
    found = []
    for index, name in enumerate(dict.fromkeys(names)):
        start, _, number = name.rpartition("-")
        known = start == f"WI-{project.key}" and number.isascii() and number.isdigit() and len(number) < 19
        task = Task.objects.filter(project=project, number=int(number)).first() if known else None
        if task is None:
            raise Invalid.at(f"{path}[{index}]", f"there is no task {name[:80]} in this project")
        found.append(task)
    return found


def depend(task_id: int, names: Sequence[str], *, actor: Actor) -> Task:
    """Let a task wait for others. What of it has begun already goes on to its end.

    Raises NotFound, Conflict (it has ended), Invalid (path `depends_on[…]`)."""
    task = Task.objects.select_related("project").filter(pk=task_id).first()
    if task is None:
        raise NotFound()
    others = named(task.project, names)
    if any(other.pk == task.pk for other in others):
        raise Invalid.at("depends_on", "a task cannot wait for itself")
    return run(partial(_depend, task, others, actor))


def _depend(task: Task, others: list[Task], actor: Actor) -> Task:
    _one_at_a_time(task.project_id)
    waits = graph(task.project_id)
    waits[str(task.pk)] |= {str(other.pk) for other in others}
    found = circle(waits, str(task.pk))
    batch = Batch.of_tasks(task.pk, *(other.pk for other in others), *map(int, found))
    task = batch.tasks[task.pk]
    if task.status in ENDED:
        raise Conflict("This task has already ended.", at=task.ended_at)
    begin(batch, task, others, actor)
    if found:
        deadlocks.found_circle(batch, task, [batch.tasks[int(pk)] for pk in found])
    batch.flush()
    return task


def _one_at_a_time(project_id: int) -> None:
    """Two dependencies that close a circle together must see each other. Before any task is locked."""
    with connection.cursor() as cursor:
        cursor.execute(ONE_AT_A_TIME, [project_id])


def begin(batch: Batch, task: Task, others: Sequence[Task], actor: Actor) -> None:
    """The rows, and what of the task has not begun is held."""
    rows = [Dependency(task=task, on=other, made_at=batch.now) for other in others]
    Dependency.objects.bulk_create(rows, ignore_conflicts=True)
    waiting = [other.name for other in others if other.status != Status.COMPLETED]
    if not waiting:
        return
    for token in batch.living(task):
        job = batch.open_job(token)
        untouched = job is not None and (job.state == Job.State.QUEUED or job.kind in UNLEASED)
        if job and untouched and token.status in WORKING:
            hold(batch, task, token, job, actor, {FOR: waiting})


def may_be_met(batch: Batch, due: Due) -> None:
    """The function of the due times of kind `dependency`: a task that this one waits for has ended."""
    task = batch.tasks[due.task_id]
    left = Dependency.objects.filter(task=task).exclude(on__status=Status.COMPLETED)
    names = [each.on.name for each in left.select_related("on__project").order_by("on_id")]
    for token in batch.living(task):
        if FOR not in token.wait:
            continue
        if not names:
            resume(batch, task, token, ENGINE)
        else:
            token.wait = {FOR: names}
            job = batch.open_job(token)
            if job:
                hold(batch, task, token, job, ENGINE, token.wait)
    batch.flush()


def graph(project_id: int) -> defaultdict[str, set[str]]:
    """Who waits for whom among the tasks of a project that go on."""
    rows = Dependency.objects.filter(task__project=project_id).exclude(task__status__in=ENDED)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for waits, on in rows.exclude(on__status__in=ENDED).values_list("task_id", "on_id"):
        found[str(waits)].add(str(on))
    for waits, on in deadlocks.questions(project_id):
        found[str(waits)].add(str(on))
    return found
