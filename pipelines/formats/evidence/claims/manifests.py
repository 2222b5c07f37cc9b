"""Names of the direct dependencies that a manifest declares."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final

_NAME: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_GROUPS: Final = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
MANIFESTS: Final = ("pyproject.toml", "package.json")
OTHERS: Final = frozenset(
    [
        "go.mod",
        "Cargo.toml",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "Gemfile",
        "composer.json",
        "setup.py",
        "setup.cfg",
        "Pipfile",
    ]
)


def is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in MANIFESTS or (name.startswith("requirements") and name.endswith(".txt"))


def is_unread_manifest(path: str) -> bool:
    """Return whether the file may declare dependencies, and nobody here reads it."""
    return path.rpartition("/")[2] in OTHERS


def dependency_names_or_none(path: str, data: bytes | None) -> frozenset[str] | None:
    """None where the file cannot be read."""
    if data is None:
        # A manifest that is not there declares nothing
        return frozenset()
    try:
        text = data.decode()
        if path.endswith(".json"):
            names = _package_json_dependencies(json.loads(text))
        elif path.endswith(".toml"):
            names = _pyproject_requirements(tomllib.loads(text))
        else:
            # Comments, and options of pip such as -r and --hash
            names = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))]
    except (ValueError, RecursionError):
        return None
    matches = (name if path.endswith(".json") else _package_name_or_empty(name) for name in names)
    return frozenset(name.lower() for name in matches if name)


def _package_name_or_empty(requirement: str) -> str:
    match = _NAME.match(requirement)
    return match[1] if match else ""


def _package_json_dependencies(document: Any) -> list[str]:
    groups = [document.get(group) for group in _GROUPS] if isinstance(document, dict) else []
    return [name for group in groups if isinstance(group, dict) for name in group]


def _pyproject_requirements(document: dict[str, Any]) -> list[str]:
    project = document.get("project")
    project = project if isinstance(project, dict) else {}
    lists = [project.get("dependencies")]
    for group in (project.get("optional-dependencies"), document.get("dependency-groups")):
        lists += list(group.values()) if isinstance(group, dict) else []
    return [
        requirement
        for one in lists
        if isinstance(one, list)
        for requirement in one
        if isinstance(requirement, str)
    ]
