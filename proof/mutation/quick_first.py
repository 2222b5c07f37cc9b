"""A plugin of pytest, beside the mutants: a mutant is to be caught soon, not to be explained well.

Of the tests that reach it the quickest run first, and drawn examples are few and not made smaller.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

COUNTED = Path("mutmut-stats.json")
EXAMPLES = 10
SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps what `@settings` says of a test; it has no public way to change that later."""


def pytest_configure() -> None:
    """mutmut calls each function through two more frames; what is deep enough without them has to be so here."""
    sys.setrecursionlimit(3 * sys.getrecursionlimit())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seconds = json.loads(COUNTED.read_text())["duration_by_test"] if COUNTED.exists() else {}
    items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
    for test in (getattr(item, "obj", None) for item in items):
        if hasattr(test, SETTINGS):
            setattr(getattr(test, "__func__", test), SETTINGS, _few(getattr(test, SETTINGS)))


def _few(usual: settings) -> settings:
    phases = (Phase.explicit, Phase.generate)
    return settings(usual, max_examples=min(usual.max_examples, EXAMPLES), phases=phases, database=None)
