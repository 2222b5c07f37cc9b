"""How the modules of the product stand to each other: none leads back to itself, and each name of a class is one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("config", "gateline", "pipelines", "reviews")
SHARED = {"Command", "Meta", "State"}
"""What Django, and nested choices of a model, always call so; and a line, as a row and as a document."""


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """{dotted name: its tree}, without migrations, which repeat what was."""
    files = (file for room in ROOMS for file in (ROOT / room).rglob("*.py") if "migrations" not in file.parts)
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            file.read_text()
        )
        for file in files
    }


def imported(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """Whatever it imports of the product: for types alone, and inside functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield from (each for each in (whole if whole in known else node.module,) if each in known)


def test_no_module_leads_back_to_itself(modules: dict[str, ast.Module]) -> None:
    known = set(modules)
    arrows = {name: set(imported(tree, known)) - {name} for name, tree in modules.items()}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as circle:
        raise AssertionError(" imports ".join(reversed(circle.args[1]))) from None


def test_no_two_classes_have_one_name(modules: dict[str, ast.Module]) -> None:
    places = defaultdict(list)
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name not in SHARED:
                places[node.name].append(f"{name}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("app", ["pipelines", "reviews"])
def test_an_app_shows_eighteen_rooms_at_most(app: str) -> None:
    files = (file.relative_to(ROOT / app) for file in (ROOT / app).rglob("*.py"))
    children = {file.parts[0] for file in files}
    assert len(children) <= 18, sorted(children)
