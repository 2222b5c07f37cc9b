"""No two modules need each other, also where only types do: an import that waits for a type checker counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT = (
    {"pipelines.work.hosts.hooks", "pipelines.work.hosts.host"},
    {"pipelines.formats.foreign.alp", "pipelines.formats.foreign.alp_typed"},
    {f"pipelines.web.editor.fixes.of_{name}" for name in ("checks", "findings", "guarantees", "joins")},
)
"""Circles that are still there; none comes to them."""


def modules() -> dict[str, Path]:
    paths = (path for room in ("pipelines", "reviews", "gateline") for path in (ROOT / room).rglob("*.py"))
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


def imported(source: str, known: dict[str, Path]) -> Iterator[str]:
    """By the module itself, and below `if TYPE_CHECKING`: nothing is imported elsewhere."""
    body = ast.parse(source).body
    for node in [*body, *(inner for each in body if isinstance(each, ast.If) for inner in each.body)]:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Modules that reach each other. What leads nowhere further, or is led to by nothing, is in no circle."""
    left = dict(imports)
    while True:
        targets = {target for found in left.values() for target in found}
        inside = {name: {t for t in found if t in left} for name, found in left.items() if name in targets}
        inside = {name: found for name, found in inside.items() if found}
        if inside == left:
            break
        left = inside
    reach = {name: reached(name, left) for name in left}
    groups = {frozenset(o for o in reach[name] if name in reach[o]) for name in left if name in reach[name]}
    return [set(group) for group in groups]


def reached(name: str, imports: dict[str, set[str]]) -> set[str]:
    found, todo = set[str](), [name]
    while todo:
        for target in imports[todo.pop()] - found:
            found.add(target)
            todo.append(target)
    return found


def test_a_circle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert circles(imports) == [{"b", "c"}]


def test_no_module_needs_one_that_needs_it() -> None:
    known = modules()
    imports = {
        name: set(imported(path.read_text(encoding="utf-8"), known)) & known.keys() - {name}
        for name, path in known.items()
    }
    assert [sorted(circle) for circle in circles(imports) if circle not in LEFT] == []
