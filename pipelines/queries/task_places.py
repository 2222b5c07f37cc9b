"""Places of open tasks in words: the gate that a position waits at, else its station."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from pipelines.models import GateVisit, Task
from pipelines.models.plumbing.compiled_queries import array_field, compiled
from pipelines.queries import versions
from pipelines.queries.home import living_tokens_by_task
from pipelines.routing.sentences.names import gate_name, station_name


def places_by_task(tasks: Collection[Task]) -> dict[int, str]:
    """Return “Code review”, “Tests + Security” of each of these tasks that has not ended, by two statements."""
    unfinished = {task.pk: task for task in tasks if task.ended_at is None}
    if not unfinished:
        return {}
    gates = dict(_open_gates(tasks=list(unfinished)))
    return {
        key: " + ".join(
            dict.fromkeys(_gate_or_station_name(unfinished[key], token, gates) for token in tokens)
        )
        for key, tokens in living_tokens_by_task(list(unfinished.values())).items()
    }


def _gate_or_station_name(task: Task, token: Any, gates: dict[int, str]) -> str:
    line, gate = versions.parsed_line_by_version_id(task.pinned_id), gates.get(token.pk)
    return gate_name(line, gate) if gate in line.gates_by_key else station_name(line, token.station)


@compiled(tasks=array_field())
def _open_gates(tasks: Any) -> QuerySet[GateVisit, tuple[int, str]]:
    """(token, gate) of the gates that are open."""
    rows = GateVisit.objects.filter(task__among=tasks, state=GateVisit.State.OPEN)
    return rows.order_by("opened_at").values_list("token", "gate")
