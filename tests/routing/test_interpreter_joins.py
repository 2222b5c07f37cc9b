"""Joins read twice: `due` of the product, and an interpreter that knows only the sentences of semantics §7."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from pipelines.routing.joining.branches import Arrival, Branch, Fork, Write
from pipelines.routing.joining.context import contradictions
from pipelines.routing.joining.joining import Merge, aggregate, due
from pipelines.routing.line import read_line
from tests.routing.interpreter import joins as second
from tests.routing.interpreter.draw_joins import AGGREGATIONS, joined

BLOCK = 250
FORK = Fork(1, "s0", ())


def branch(token: dict[str, Any]) -> Branch:
    arrival = Arrival(token["from"], token["as"], token["id"]) if "from" in token else None
    return Branch(token["id"], token["at"], (FORK,), arrival)


def plain(merge: Merge) -> dict[str, Any]:
    return {
        "station": merge.station,
        "tokens": sorted(merge.arrived),
        "verdict": merge.verdict,
        "counted": dict(merge.standings),
        "never": list(merge.never),
    }


def first_reading(document: dict[str, Any], tokens: list[dict[str, Any]]) -> dict[str, Any] | None:
    merge = due(read_line(document), [branch(token) for token in tokens])
    # Joins that wait for each other are no join of §7 that is due, but a deadlock of §8, which the product breaks.
    return plain(merge) if merge and not merge.circular else None


@pytest.mark.parametrize("block", range(4))
def test_both_readings_decide_the_same_joins(block: int) -> None:
    """Of several that are due the law names no first one: the product has to decide one of them."""
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        document, tokens = joined(seed)
        first, all_due = first_reading(document, tokens), second.joins_due(document, tokens)
        assert (first in all_due) if all_due else first is None, (seed, first, all_due)


def test_the_drawn_cases_come_to_every_verdict_and_to_none_often() -> None:
    verdicts = Counter(
        merge["verdict"] if merge else "waits"
        for merge in (first_reading(*joined(seed)) for seed in range(BLOCK))
    )
    assert verdicts.keys() == {"pass", "fail", "blocked", "waits"}
    assert min(verdicts.values()) >= 15


def test_both_aggregate_alike() -> None:
    words = ("passed", "failed", "blocked")
    counts = [(p, f, b) for p in range(4) for f in range(4) for b in range(3) if p + f + b]
    for count in counts:
        standings = [word for word, n in zip(words, count, strict=True) for _ in range(n)]
        for aggregation in AGGREGATIONS:
            assert aggregate(aggregation, standings) == second.aggregated(aggregation, standings), standings


@pytest.mark.parametrize("seed", range(200))
def test_both_find_the_same_contradictions(seed: int) -> None:
    random = Random(seed)
    values = (0, 0.0, False, "0", None, [1], {"a": 1})
    branches = [
        [{random.choice("xyz"): random.choice(values)} for _ in range(random.randint(0, 3))] for _ in range(3)
    ]
    orders = iter(range(1, 99))
    written = [[Write(next(orders), each) for each in branch] for branch in branches]
    assert list(contradictions(written)) == second.contradictions(branches)
