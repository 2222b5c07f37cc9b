"""A class has one name, and a name one class: who greps for it finds one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What each `manage.py` command is called by Django.
SHARED = {"Command"}
# Programs of the demo's stations know nothing of the product, nor the product of them.
APART = ROOT / "pipelines" / "lines" / "demo"


def test_a_class_name_is_unique_in_the_repository() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for room in ("config", "pipelines", "reviews"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" in path.parts or APART in path.parents:
                continue
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(str(path.relative_to(ROOT)))
    twice = {name: found for name, found in places.items() if len(found) > 1 and name not in SHARED}
    assert not twice
