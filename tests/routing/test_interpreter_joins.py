"""Joins read twice: `due` of the product, and an interpreter that knows only the sentences of law §7."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from random import Random
from typing import Any

import pytest

from pipelines.routing.decide.branch_joins.branches import Arrival, Branch, Fork, Write
from pipelines.routing.decide.branch_joins.context_merge import contradicting_keys
from pipelines.routing.decide.branch_joins.join_decision import (
    Merge,
    aggregate_verdict,
    first_decidable_merge_or_none,
)
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.interpreter import joins as second
from tests.routing.interpreter.draw_forks import live
from tests.routing.interpreter.draw_joins import AGGREGATIONS, joined

BLOCK = 250
FORK = Fork(1, "s0", ())


def branch(token: dict[str, Any]) -> Branch:
    arrival = Arrival(token["from"], token["as"], token["id"]) if "from" in token else None
    forks = (Fork(each["id"], each["station"], tuple(each["to"])) for each in token.get("forks", ()))
    return Branch(token["id"], token["at"], tuple(forks) if "forks" in token else (FORK,), arrival)


def plain(merge: Merge) -> dict[str, Any]:
    return {
        "station": merge.station,
        "fork": merge.fork.id if merge.fork and merge.fork != FORK else None,
        "tokens": sorted(merge.arrived),
        "verdict": merge.verdict,
        "counted": dict(merge.standings),
        "never": list(merge.never),
        "alone": merge.alone,
    }


def first_reading(document: dict[str, Any], tokens: list[dict[str, Any]]) -> dict[str, Any] | None:
    merge = first_decidable_merge_or_none(_line(json.dumps(document)), [branch(token) for token in tokens])
    # Joins that wait for each other are no join of §7 that is due, but a deadlock of §8, which the product breaks.
    return plain(merge) if merge and not merge.circular else None


@lru_cache(maxsize=2)
def _line(document: str) -> ParsedLine:
    return read_line(json.loads(document))


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


def lived(seeds: range) -> Counter[str]:
    """Lives of tasks on lines with forks inside of forks, each join decided by both."""
    counted: Counter[str] = Counter()

    def decided(document: dict[str, Any], tokens: list[dict[str, Any]]) -> dict[str, Any] | None:
        first, all_due = first_reading(document, tokens), second.joins_due(document, tokens)
        assert (first in all_due) if all_due else first is None, (seed, tokens, first, all_due)
        if first is not None:
            counted[first["verdict"]] += 1
            counted["sibling left"] += not first["alone"]
            counted["several forks"] += len({fork["id"] for token in tokens for fork in token["forks"]}) > 1
            counted["never came"] += bool(first["never"])
        return first

    for seed in seeds:
        counted["two joins or more"] += live(seed, decided) >= 2
    return counted


def test_both_decide_the_same_joins_of_forks_inside_of_forks() -> None:
    counted = lived(range(60))

    told = ("pass", "fail", "blocked", "sibling left", "several forks", "never came", "two joins or more")
    assert min(counted[each] for each in told) >= 5, counted


@pytest.mark.soak
def test_both_decide_the_joins_of_twenty_thousand_lives_alike() -> None:
    print(lived(range(20_000)))


def test_both_aggregate_alike() -> None:
    words = ("passed", "failed", "blocked")
    counts = [(p, f, b) for p in range(4) for f in range(4) for b in range(3) if p + f + b]
    for count in counts:
        standings = [word for word, n in zip(words, count, strict=True) for _ in range(n)]
        for aggregation in AGGREGATIONS:
            assert aggregate_verdict(aggregation, standings) == second.aggregated(aggregation, standings), (
                standings
            )


@pytest.mark.parametrize("seed", range(200))
def test_both_find_the_same_contradictions(seed: int) -> None:
    random = Random(seed)
    values = (0, 0.0, False, "0", None, [1], {"a": 1})
    branches = [
        [{random.choice("xyz"): random.choice(values)} for _ in range(random.randint(0, 3))] for _ in range(3)
    ]
    orders = iter(range(1, 99))
    written = [[Write(next(orders), each) for each in branch] for branch in branches]
    assert list(contradicting_keys(written)) == second.contradictions(branches)
