"""Which chains of tasks a gate with `sample` asks about, and how a decision says so (law §15)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.decide.sampling import is_chain_drawn
from tests.routing.support import decided, line

NEVER = {"samples": {"g": "not_drawn"}}
RISKY = {"any": [{"field": "output.risk", "operator": "equals", "value": "high"}]}


def test_a_higher_rate_keeps_every_chain_that_was_drawn() -> None:
    for root in map(str, range(300)):
        drawn = [is_chain_drawn(b"key", "gate", root, one_in) for one_in in (1, 2, 5, 20, 100)]
        assert drawn == sorted(drawn, reverse=True)
        assert drawn[0]


def test_the_draw_depends_on_key_gate_and_chain_and_keeps_to_the_rate() -> None:
    draws = {
        (key, gate): [is_chain_drawn(key, gate, str(n), 4) for n in range(2_000)]
        for key in (b"a", b"b")
        for gate in ("x", "y")
    }
    assert len({tuple(each) for each in draws.values()}) == 4
    assert all(400 < sum(each) < 600 for each in draws.values())


@pytest.mark.parametrize(
    ("facts", "output", "asks"),
    [
        ({}, {"risk": "low"}, True),
        (NEVER, {"risk": "low"}, False),
        (NEVER, {"risk": "high"}, True),
        (NEVER, {}, True),
        ({"samples": {"g": "drawn"}}, {"risk": "low"}, True),
        ({"samples": {"g": "same_change"}}, {"risk": "low"}, True),
    ],
)
def test_a_gate_asks_about_what_was_drawn_and_where_a_check_of_always_says_so(
    facts: dict[str, Any], output: dict[str, Any], asks: bool
) -> None:
    given = line({"gate": "g"}, {}, gates=[{"key": "g", "sample": {"one_in": 9, "always": RISKY}}])
    answer = decided(given, {"result": "success", "output": output}, **facts)
    assert (answer["decision"] == "wait") == asks
