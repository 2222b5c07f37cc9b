"""Repository in which a task works, and what its environment asks of a worker (docs/repositories.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.models import Purpose, Repository, Task
from pipelines.queries import versions
from pipelines.queries.queued_work import QueuedWork
from pipelines.routing.document.kinds import IMAGES, kind_executes
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.document.workspace import GitWorkspace


def task_repository_or_none(task: Task, line: ParsedLine) -> Repository | None:
    """The one that the line names, or that an input names by its address or name."""
    return find_repository(task.project_id, line, task.inputs)


def find_repository(project: int, line: ParsedLine, inputs: Mapping[str, Any]) -> Repository | None:
    """Find the one that a line names, or a value of an input."""
    workspace = line.workspace
    if workspace is None:
        return None
    connected = Repository.objects.filter(project=project).order_by("pk")
    if not workspace.input_key:
        return connected.filter(name=workspace.repository).first()
    text = str(inputs.get(workspace.input_key) or "")
    return connected.filter(address=text).first() or connected.filter(name=text).first()


def offers_required_of_worker(
    project: int, line: ParsedLine, station: Station, inputs: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return what a worker has to offer besides what the station itself needs."""
    if line.workspace is None or not kind_executes(station.kind):
        return ()
    repository = find_repository(project, line, inputs)
    return (IMAGES,) if repository is not None and environment_uses_images(repository) else ()


def environment_uses_images(repository: Repository) -> bool:
    """True if its environment or a service of it is an image."""
    prepare = repository.prepare
    return bool(prepare.get("image") or any(service.get("image") for service in prepare.get("services", ())))


@dataclass(frozen=True)
class ImageRepositories:
    """The repositories of projects whose environments are images. `by_name`: {project: their names}; `by_input`:
    {project: each text of an input by which one is named}."""

    by_name: Mapping[int, frozenset[str]]
    by_input: Mapping[int, frozenset[str]]

    @classmethod
    def of_projects(cls, projects: Collection[int]) -> ImageRepositories:
        by_name: dict[int, dict[str, bool]] = {project: {} for project in projects}
        by_address: dict[int, dict[str, bool]] = {project: {} for project in projects}
        for repository in Repository.objects.filter(project__in=projects).order_by("pk"):
            runs = environment_uses_images(repository)
            by_name[repository.project_id].setdefault(repository.name, runs)
            by_address[repository.project_id].setdefault(repository.address, runs)
        # As `find_repository` does: an address counts before a name.
        by_input = {project: {**by_name[project], **by_address[project]} for project in projects}
        return cls(_image_repository_names_by_project(by_name), _image_repository_names_by_project(by_input))

    def all_need_images(self, work: QueuedWork) -> bool:
        """True if all these jobs need images."""
        workspace = git_workspace_of_work_or_none(work)
        return (
            workspace is not None
            and not workspace.input_key
            and workspace.repository in self.by_name[work.project]
        )

    def input_deciding_image_need(self, work: QueuedWork) -> str:
        """Return the key of the input by which it turns out whether a job needs images; "" where there is none."""
        workspace = git_workspace_of_work_or_none(work)
        return workspace.input_key if workspace is not None and self.by_input[work.project] else ""


def git_workspace_of_work_or_none(work: QueuedWork) -> GitWorkspace | None:
    """Return the workspace whose environment these jobs run in."""
    line = versions.parsed_line_by_version_id(work.version)
    runs = work.purpose == Purpose.STATION and kind_executes(line.station(work.station).kind)
    return line.workspace if runs else None


def _image_repository_names_by_project(
    repositories: Mapping[int, Mapping[str, bool]],
) -> dict[int, frozenset[str]]:
    return {
        project: frozenset(text for text, runs in texts.items() if runs)
        for project, texts in repositories.items()
    }
