"""Task whose end starts another: what paths find in it, and who may have asked for what it says."""

from __future__ import annotations

from typing import Any

from pipelines.engine.moves import producers
from pipelines.models import UNKNOWN, Task, Trigger
from pipelines.queries import versions
from pipelines.queries.addresses import absolute_url
from pipelines.routing.basics import jsontext
from pipelines.work.triggers.line_end import awaited_statuses
from pipelines.work.triggers.mapping import FIXED_ONLY

RELATED = ("project__owner", "line", "pinned", "requester")
"""What is read of an ended task beside its row."""


def task_document(task: Task) -> dict[str, Any]:
    """Return what paths find: the task, its inputs but for secrets and files, and the outputs of its stations."""
    project, pinned = task.project, versions.parsed_line_by_version_id(task.pinned_id)
    hidden = {field.key for field in pinned.inputs if field.type in FIXED_ONLY}
    return {
        "task": {
            "name": task.name,
            "title": task.title,
            "line": task.line.key,
            "version": task.pinned.number,
            "state": task.status,
            "end": task.end,
            "reason": task.reason,
            "priority": task.priority,
            "labels": list(task.labels),
            "requester": task.requester.username if task.requester else task.requested_by,
            "link": absolute_url("task", project.owner.key, project.key, task.name),
        },
        "inputs": {key: value for key, value in task.inputs.items() if key not in hidden},
        "outputs": task.context,
        "variables": task.variables,
    }


def latest_ended_task_or_none(line_id: int, statuses: list[str]) -> Task | None:
    """Return the task of a line that ended last in one of these ways."""
    ended = Task.objects.filter(line=line_id, ended_at__isnull=False, status__in=statuses)
    return ended.select_related(*RELATED).order_by("-ended_at", "-pk").first()


def latest_document_text(trigger: Trigger) -> str:
    """Return what the task that ended last would bring, "" where none has ended so."""
    task = latest_ended_task_or_none(trigger.source_id or 0, awaited_statuses(trigger.options))
    return jsontext.dumps(task_document(task), indent=2, ascii_only=False) if task else ""


def requesters_and_contributors(task: Task) -> tuple[str, ...]:
    """List who may have asked for what an ended task says, as `Task.requesters`: its requesters, and whoever worked by
    hand or pushed there, since outputs become inputs (law §16)."""
    worked_on = [task.pk, *(link.pk for link in producers.retried_ancestor_tasks(task))]
    people = [f"person:{task.requester_id}"] if task.requester_id else []
    pushes = list(producers.pushes_to_branches_of_task_chain(task).prefetch_related("people"))
    pushed = [f"person:{person.pk}" for push in pushes for person in push.people.all()]
    unproven = [UNKNOWN] if any(not push.by_host for push in pushes) else []
    by_hand = producers.manual_workers_of_tasks(worked_on)
    return tuple(dict.fromkeys((*people, *task.requesters, *by_hand, *pushed, *unproven)))
