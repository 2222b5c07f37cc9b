"""All questions about a station together are bounded, and what is beyond the bound is unknown, never a guess."""

from __future__ import annotations

import pytest

from pipelines.routing.analysis.satisfiability import effort, texts
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from tests.routing.support import ruled

MANY = [{"when": {"output": {"path": f"$.k{n}", "op": "gt", "value": n}}} for n in range(40)]


def test_beyond_the_bound_a_rule_is_unknown_and_says_why() -> None:
    line = ruled(*MANY)
    with effort.limiting_effort(5_000) as meter:
        standings = FirstMatchAnalysis(line, line.stations[0]).rule_liveness
    assert meter.left < 0
    assert standings[0].status == "live"
    assert standings[-1].status == "unknown"
    assert "more work than the bound" in standings[-1].why


def test_what_is_decided_under_a_bound_is_what_is_decided_without() -> None:
    line = ruled(*MANY, {"when": MANY[3]["when"]})
    free = [standing.status for standing in FirstMatchAnalysis(line, line.stations[0]).rule_liveness]
    for units in (500, 2_000, 20_000, 200_000):
        with effort.limiting_effort(units):
            bounded = [
                standing.status for standing in FirstMatchAnalysis(line, line.stations[0]).rule_liveness
            ]
        assert all(b in (f, "unknown") for b, f in zip(bounded, free, strict=True)), units


def test_a_bound_ends_with_its_block_and_binds_every_question_within() -> None:
    with effort.limiting_effort(10), pytest.raises(effort.EffortExhausted):
        effort.spend_effort(11)
    effort.spend_effort(10**12)


def test_a_text_too_long_to_be_left_out_is_beyond_the_bound_at_once() -> None:
    but_one = texts.text_sets_of_list(frozenset(["x" * 3_000])).no
    with pytest.raises(Unknown):
        next(but_one.intersection(texts.true_and_false_text_sets("ends_with", "z").yes).samples(1))
