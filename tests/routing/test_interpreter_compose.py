"""Strategies of `compose` read twice: `decide`, and the interpreter that knows only the sentences."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.routing.interpreter.draw_compose import STRATEGIES, plainly, with_strategies
from tests.routing.interpreter.generator import case
from tests.routing.test_interpreter_agrees import both_say


def composed(seeds: range) -> Counter[str]:
    """Drawn cases whose rules merge, decided by both; how often each strategy set a variable, or failed."""
    counted: Counter[str] = Counter()
    for seed in seeds:
        document, situation = plainly(seed) if seed % 2 else case(seed)
        if not seed % 2:
            with_strategies(seed, document, situation)
        decision = both_say(document, situation)
        counted["compose_failed"] += "compose_failed" in (decision.get("error"), decision.get("trigger"))
        counted.update(_used(document, situation, decision))
    return counted


def _used(document: dict[str, Any], situation: dict[str, Any], decision: dict[str, Any]) -> list[str]:
    [here] = [each for each in document["stations"] if each["key"] == situation["station"]]
    [rule] = [each for each in here["rules"] if each["id"] == decision.get("rule")] or [{}]
    entries = rule.get("compose", []) if decision.get("variables") else []
    return [entry["strategy"] for entry in entries if "strategy" in entry]


def test_both_readings_merge_alike() -> None:
    counted = composed(range(600))

    assert min(counted[each] for each in (*STRATEGIES, "compose_failed")) >= 5, counted


@pytest.mark.soak
def test_both_readings_merge_ten_thousand_cases_alike() -> None:
    composed(range(10_000))
