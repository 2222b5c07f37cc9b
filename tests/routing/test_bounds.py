"""Law §3: every evaluation is bounded in time and size."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics import jsontext
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from tests.effort import calls
from tests.routing.support import goes, ruled
from tests.waiting import that_ends


def nested(depth: int, width: int) -> Any:
    value: Any = "a" * 50
    for _ in range(depth):
        value = [value] * width
    return value


HEAVY = [
    ({"output": {"path": "$..*..*..*", "op": "equals", "value": 1}}, nested(6, 6)),
    ({"output": {"path": "$..[?@..[?@..*]]", "op": "exists"}}, nested(6, 6)),
    ({"output": {"path": "$[*][*]", "op": "in", "value": [[i, i] for i in range(2000)]}}, nested(2, 400)),
]


@pytest.mark.parametrize(("when", "output"), HEAVY)
def test_an_evaluation_that_would_take_too_long_is_stuck_soon(when: Any, output: Any) -> None:
    with that_ends():
        assert (
            goes(ruled({"when": when}), {"eval": "", "output": output})
            == "stuck TransitionEvaluationError r1"
        )


def test_a_pattern_that_backtracks_elsewhere_is_linear_here() -> None:
    when = {"output": {"path": "k", "op": "matches", "value": "^(a+)+$"}}
    with that_ends():
        assert goes(
            ruled({"when": when}, {"to": "c"}), {"eval": "", "output": {"k": "a" * 100_000 + "!"}}
        ) == ("move c by rule r2")


@pytest.mark.parametrize("pattern", ["x" * 1001, "(((a{1,100}){1,100}){1,100}){1,100}"])
def test_a_pattern_that_is_too_large_is_refused(pattern: str) -> None:
    when = {"output": {"path": "k", "op": "matches", "value": pattern}}
    assert goes(ruled({"when": when}), {"eval": ""}) == "stuck InvalidTransitionSyntax r1"


def test_numbers_with_huge_exponents_compare_at_once() -> None:
    text = '{"k": 1e999999999999999999}'
    from_text = read_situation(
        {"station": "a", "outcome": {"eval": "1e999999999999999999", "output": _loads(text)}, "facts": {}}
    )
    rules = [
        {"when": {"output": {"path": "k", "op": "lt", "value": 10**30}}},
        {"when": {"all": [{"output": {"path": "k", "op": "gt", "value": 1e300}}, EVAL]}, "to": "c"},
    ]
    answer = decide(ruled(*rules), from_text).to_dict()
    assert answer["rule"] == "r2"


EVAL = {"eval": {"op": "gt", "value": 1e300}}


def _loads(text: str) -> Any:
    return jsontext.loads(text)


def test_conditions_may_nest_as_deep_as_a_document() -> None:
    when: dict[str, Any] = {"always": True}
    for _ in range(46):
        when = {"all": [when]}
    assert goes(ruled({"when": when}), {"eval": ""}) == "move b by rule r1"


def test_a_decision_over_twenty_rules_is_quick() -> None:
    number = {"path": "$.n", "op": "gt"}
    rules = [
        {"when": {"all": [{"result": "success"}, {"output": {**number, "value": i}}]}} for i in range(20)
    ]
    of = ruled(*rules)
    situation = read_situation({"station": "a", "outcome": {"exit_code": 0, "output": {"n": 0}}})
    assert calls(lambda: decide(of, situation)) < 2_000  # 591 when this was written
