"""Rules of a line that tasks took more often than others: by them drawings choose among ways that go equally
well. Expressed as ranks, and only of what differs clearly, so that a drawing does not change with each
task."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import RULE_COUNTS
from pipelines.routing.document.line import ParsedLine

FEWEST = 20
"""Of fewer tasks nothing is told."""
CLEARLY = 1.5
"""A rule comes before the next one when it was taken by so many times as many tasks."""
CACHE_SECONDS = 300
"""Seconds for which a process does not ask again."""


def rank_by_rule(line: ParsedLine, line_id: int) -> dict[str, int]:
    """{rule id: rank}, 0 what was taken most, of every rule of the stations at which ranks differ. `line`: any version
    of it; a rule is its id."""
    # The period is a part of the cache's key: it changes every five minutes.
    counts = _cached_rule_counts(line_id, int(time.monotonic()) // CACHE_SECONDS)
    return {
        rule: rank
        for station in line.stations
        for rule, rank in rank_by_rule_id(
            {station_rule.id: counts.get(station_rule.id, 0) for station_rule in station.rules}
        ).items()
    }


def rank_by_rule_id(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the ranks of the rules of one station. Rules that are hardly apart share a rank."""
    most_first = sorted(counts.items(), key=lambda pair: -pair[1])
    rank_by_rule = {rule: 0 for rule, _ in most_first[:1]}
    rank, left = 0, sum(counts.values())
    for (_, more), (rule, fewer) in pairwise(most_first):
        if left >= FEWEST and more >= CLEARLY * fewer:
            rank += 1
        rank_by_rule[rule] = rank
        left -= more
    return rank_by_rule if rank else {}


@lru_cache(maxsize=512)
def _cached_rule_counts(line_id: int, _period: int) -> Mapping[str, int]:
    return dict(fetch(RULE_COUNTS, [line_id]))
