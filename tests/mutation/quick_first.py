"""A plugin of pytest, beside the mutants: of the tests that reach a mutant the quickest run first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

COUNTED = Path("mutmut-stats.json")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seconds = json.loads(COUNTED.read_text())["duration_by_test"] if COUNTED.exists() else {}
    items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
