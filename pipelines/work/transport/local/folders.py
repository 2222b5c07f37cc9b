"""Folders of the server that a job names, and that its owner is allowed (house §5): asked at each claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.models import Repository, Task
from pipelines.ports.server_folders import PermittedFolder, path_without_links
from pipelines.queries.allowed_folders import permitted_folders
from pipelines.routing.document.kinds import work_templates
from pipelines.routing.document.line import ParsedLine, Station

# `/srv/app/` where a path begins: not in a URL, in a relative path, or behind a template
FOLDER = re.compile(r"(?<![\w:/.}])/[^\s/]+/")


def template_inputs(task: Task, line: ParsedLine) -> dict[str, Any]:
    """The inputs as templates see them: a repository that is named by its name is there by its address."""
    inputs = dict(task.inputs)
    names = {
        field.key: inputs[field.key]
        for field in line.inputs
        if field.type == "repository" and is_repository_name(inputs.get(field.key))
    }
    if names:
        rows = Repository.objects.filter(project=task.project_id, name__in=set(names.values()))
        addresses = dict(rows.values_list("name", "address"))
        inputs |= {key: addresses.get(name, name) for key, name in names.items()}
    return inputs


def is_repository_name(value: Any) -> bool:
    # Every address of a repository has one of these
    return isinstance(value, str) and bool(value) and not re.search(r"[/:@]", value)


def named_folders(
    task: Task, line: ParsedLine, station: Station, inputs: Mapping[str, Any], address: str
) -> tuple[Mapping[str, Any], ...]:
    keys = (field.key for field in line.inputs if field.type == "repository")
    candidates = [address, *(str(inputs.get(key) or "") for key in keys)]
    paths = [text for text in candidates if text.startswith("/")]
    written = [text for _place, text in work_templates(station.work, "work") if FOLDER.search(text)]
    if not (paths or written):
        return ()
    return tuple(
        folder.to_dict()
        for folder in _referenced_folders(permitted_folders(task.project.owner_id), paths, written)
    )


def submodule_folders(task: Task, address: str) -> tuple[Mapping[str, Any], ...]:
    """Return the folders in which submodules of the repository at this address may be."""
    # A repository elsewhere names no folder of this machine
    if not address.startswith("/"):
        return ()
    return tuple(folder.to_dict() for folder in permitted_folders(task.project.owner_id))


def _referenced_folders(
    allowed: Iterable[PermittedFolder], paths: Iterable[str], written: Iterable[str]
) -> Iterable[PermittedFolder]:
    resolved = {path_without_links(path) for path in paths}
    texts = list(written)
    return (
        folder for folder in allowed if folder.path in resolved or any(folder.path in text for text in texts)
    )
