"""In which repository a task works, and what its environment asks of a worker (docs/repositories.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.models import Repository, Task
from pipelines.routing.document.kinds import IMAGES, executes
from pipelines.routing.document.line import Line, Station


def repository_of(task: Task, line: Line) -> Repository | None:
    """The one that the line names, or that an input names by its address or name."""
    return _named(task.project_id, line, task.inputs)


def _named(project: int, line: Line, inputs: Mapping[str, Any]) -> Repository | None:
    workspace = line.workspace
    if workspace is None:
        return None
    connected = Repository.objects.filter(project=project).order_by("pk")
    if not workspace.input:
        return connected.filter(name=workspace.repository).first()
    said = str(inputs.get(workspace.input) or "")
    return connected.filter(address=said).first() or connected.filter(name=said).first()


def asked(project: int, line: Line, station: Station, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """What a worker has to offer besides what the station itself needs."""
    if line.workspace is None or not executes(station.kind):
        return ()
    found = _named(project, line, inputs)
    prepare = found.prepare if found is not None else {}
    named = prepare.get("image") or any(each.get("image") for each in prepare.get("services", ()))
    return (IMAGES,) if named else ()
