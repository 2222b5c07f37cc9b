"""Guarantees that two steps together refute, and those that limits alone keep."""

from __future__ import annotations

from collections import Counter

import pytest

from pipelines.routing.guarantees.guarantee_proofs import PROVED, REFUTED, UNKNOWN, prove_guarantees
from tests.routing.guarantees.agreeing import breaks
from tests.routing.guarantees.gated_lines import hold
from tests.routing.support import document, line

FIVE = {"output": {"path": "n", "op": "equals", "value": 5}}


def test_a_failed_visit_is_led_on_by_a_rule_that_reads_its_output() -> None:
    given = document(
        {"rules": [{"id": "r1", "when": FIVE, "to": "c"}, {"id": "r2", "to": "failed"}]},
        {},
        {"rules": [{"id": "r3", "to": "completed"}]},
        guarantees=[{"id": "g", "never": {"reach": "completed", "without": "a"}}],
    )
    [answer] = prove_guarantees(line(*given["stations"], guarantees=given["guarantees"]))
    assert answer.answer == REFUTED
    assert answer.path == "a (failed, rule r1 with n = 5) → c (rule r3) → completed"
    assert breaks(given, given["guarantees"][0], answer)


def test_a_jump_is_told_from_another_while_its_review_is_open() -> None:
    given = document(
        {"rules": [{"id": "r1", "to": "b"}]},
        {},
        {},
        jumps="all",
        gates=[{"key": "g", "mode": "manual"}],
        guarantees=[{"id": "p", "never": {"reach": "c", "without": "b"}}],
    )
    more = {key: given[key] for key in ("jumps", "gates", "guarantees")}
    [answer] = prove_guarantees(line(*given["stations"], **more))
    assert answer.answer == REFUTED
    assert breaks(given, given["guarantees"][0], answer)


def test_limits_alone_keep_a_promise() -> None:
    """Nobody came from anywhere at the first station, so that its rule is stuck before its limit counts."""
    back = {"id": "origin", "to": "@origin", "on_exhausted": {"to": "c"}, "max_retries": 0}
    promise = [{"id": "p", "never": {"reach": "c", "without": "b"}}]
    [kept] = prove_guarantees(line({"rules": [back]}, {}, {}, guarantees=promise))
    assert (kept.answer, kept.because) == (PROVED, "limits keep every path from it")
    [broken] = prove_guarantees(line({"rules": [{**back, "to": "b"}]}, {}, {}, guarantees=promise))
    assert (broken.answer, broken.path) == (REFUTED, "a (rule origin) → c")


def test_a_number_of_moves_that_is_proved_has_nothing_against_it() -> None:
    [kept] = prove_guarantees(line({}, guarantees=[{"id": "p", "ends_within": 9}]))
    assert (kept.answer, kept.because) == (PROVED, "")


@pytest.mark.wide
def test_few_answers_about_gated_lines_stay_unknown() -> None:
    counted: Counter[str] = Counter()
    for seed in range(250):
        hold(seed, 0, counted)
    assert counted[UNKNOWN] < 0.04 * sum(counted[answer] for answer in (PROVED, REFUTED, UNKNOWN)), counted
