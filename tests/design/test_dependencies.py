"""Each library that is declared has its row in `docs/dependencies.md`, with the licence that its package declares."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(
    r"^\| (?P<name>[\w@/.-]+) \| (?P<licence>[^|]+?) \| (?P<purpose>[^|]+?) \| (?P<rejected>[^|]+?) \|$", re.M
)
FAMILIES = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "BSD 2-Clause License": "BSD-2-Clause",
}


def _declared_python() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = [
        project["project"]["dependencies"],
        *project["project"].get("optional-dependencies", {}).values(),
        *project["dependency-groups"].values(),
    ]
    return {re.match(r"[\w.-]+", line)[0] for group in groups for line in group}


def _declared_node() -> set[str]:
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    return {*package["dependencies"], *package["devDependencies"]}


def _rows() -> dict[str, str]:
    text = (ROOT / "docs/dependencies.md").read_text("utf-8")
    return {row["name"]: row["licence"] for row in ROW.finditer(text) if row["name"] != "library"}


def _licences_of(distribution: str) -> set[str]:
    """What the package says of itself, in whichever of the three fields; empty where it says nothing."""
    fields = metadata.metadata(distribution)
    expression = fields.get("License-Expression")
    if expression:
        return {expression}
    free = (fields.get("License") or "").splitlines()
    classified = [line.split("::")[-1].strip() for line in fields.get_all("Classifier") or []]
    said = [*free[:1], *(line for line in classified if line.endswith("License"))]
    return {FAMILIES.get(each, each) for each in said} - {"OSI Approved"}


def test_each_declared_library_has_its_row_and_no_row_is_left_over() -> None:
    assert set(_rows()) == _declared_python() | _declared_node()


@pytest.mark.parametrize("name", sorted(_declared_python()))
def test_a_python_row_names_the_licence_of_its_package(name: str) -> None:
    licence, declared = _rows()[name], _licences_of(name)
    parts = set(licence.split(" OR ")) | {licence}
    assert not declared or any(
        part == each or part.startswith(f"{each}-") for part in parts for each in declared
    ), f"{name} declares {sorted(declared)}"


def test_a_row_of_the_front_end_names_the_licence_of_its_package() -> None:
    rows = _rows()
    for name in _declared_node():
        package = json.loads((ROOT / "node_modules" / name / "package.json").read_text("utf-8"))
        assert rows[name] == package["license"], name
