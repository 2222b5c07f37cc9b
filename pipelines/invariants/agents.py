"""What agents do at once: I18."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Count

from pipelines.engine.unleased import UNLEASED
from pipelines.models import Agent, Job
from pipelines.ports import Violation


def agents_within_capacity(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I18: no agent has more jobs running than its capacity, unless the work is a person's or the capacity was lowered
    since they began."""
    running = (
        Job.objects.filter(state=Job.State.RUNNING)
        .exclude(agent="")
        .exclude(kind__in=UNLEASED)
        .values_list("task__project", "agent")
        .annotate(n=Count("pk"))
    )
    counted = {(project, key): n for project, key, n in running.order_by()}
    if not counted:
        return
    for agent in Agent.objects.filter(
        capacity__isnull=False, project__in={project for project, _ in counted}
    ):
        n = counted.get((agent.project_id, agent.key), 0)
        if agent.capacity is not None and n > agent.capacity and not _lowered(agent):
            yield Violation(
                "I18", f"agent {agent.pk}", f"has {n} jobs running, its capacity is {agent.capacity}"
            )


def _lowered(agent: Agent) -> bool:
    return agent.events.filter(kind="changed", data__has_key="capacity").exists()
