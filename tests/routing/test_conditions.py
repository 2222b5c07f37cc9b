"""Law §3, form by form and sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.support import YES, decided, goes, ruled


def holds(when: Any, outcome: dict[str, Any], **facts: Any) -> bool:
    """Whether a rule with this condition takes the outcome."""
    more = {"policy": facts.pop("policy")} if "policy" in facts else {}
    answer = goes(ruled({"when": when}, {"to": "c"}, **more), outcome, **facts)
    assert answer in ("move b by rule r1", "move c by rule r2"), answer
    return answer == YES


def stuck(when: Any, outcome: dict[str, Any], **facts: Any) -> str:
    answer = decided(ruled({"when": when}), outcome, **facts)
    assert answer["decision"] == "stuck", answer
    return answer["error"]


RESULTS = [
    ({"always": True}, {"result": "cancelled"}, True),
    ({"result": "success"}, {"result": "success"}, True),
    ({"result": "success"}, {"result": "failure"}, False),
    ({"result": ["failure", "cancelled"]}, {"result": "cancelled"}, True),
    ({"result": []}, {"result": "success"}, False),
    ({"result": "any"}, {"result": "success"}, True),
    ({"result": "any"}, {"result": "failure"}, True),
    ({"result": "any"}, {"result": "cancelled"}, True),
    ({"result": ["any"]}, {"result": "cancelled"}, True),
    ({"verdict": "pass"}, {"verdict": "pass"}, True),
    ({"verdict": "any"}, {"verdict": "fail"}, True),
    ({"verdict": ["fail"]}, {"verdict": "pass"}, False),
    ({"verdict": "fail"}, {"result": "success", "verdict": "fail"}, True),
    ({"result": "success"}, {"result": "success", "verdict": "fail"}, True),
    ({"failure_type": "gap"}, {"result": "failure", "failure_type": "gap"}, True),
    ({"failure_type": ["bug", "gap"]}, {"result": "failure", "failure_type": "gap"}, True),
    ({"failure_type": "gap"}, {"result": "failure", "failure_type": "Gap"}, False),
    ({"failure_type": "gap"}, {"result": "failure"}, False),
    ({"all": []}, {"result": "success"}, True),
    ({"any": []}, {"result": "success"}, False),
    ({"not": {"any": []}}, {"result": "success"}, True),
    ({"all": [{"result": "success"}, {"verdict": "fail"}]}, {"result": "success"}, False),
    ({"any": [{"verdict": "fail"}, {"result": "success"}]}, {"result": "success"}, True),
    ({"not": {"result": "success"}}, {"result": "success"}, False),
]


@pytest.mark.parametrize(("when", "outcome", "expected"), RESULTS)
def test_a_condition_on_the_outcome_is_true_when_the_table_says(
    when: Any, outcome: dict[str, Any], expected: bool
) -> None:
    assert holds(when, outcome) is expected


@pytest.mark.parametrize(("results", "expected"), [("any", "c"), ("blocked", "b"), (["any", "blocked"], "b")])
def test_any_does_not_mean_blocked(results: Any, expected: str) -> None:
    line = ruled({"when": {"result": results}}, {"to": "c"})
    assert decided(line, {"result": "blocked"})["to"] == [expected]


EVALS = [
    ("equals", "ok", "ok", True),
    ("equals", "ok", "ok ", False),
    ("equals", "ok", "OK", False),
    ("not_equals", "ok", "OK", True),
    ("not_equals", "ok", "ok", False),
    ("equals", 5, "5", False),
    ("not_equals", 5, "5", True),
    ("contains", "fail", "api_failure", True),
    ("not_contains", "fail", "api_failure", False),
    ("contains", "", "x", True),
    ("starts_with", "api", "api_failure", True),
    ("ends_with", "ure", "api_failure", True),
    ("starts_with", 5, "5", False),
    ("gt", 6, "7", True),
    ("gt", 6, " 7\n", True),
    ("gt", 6, "6.0", False),
    ("gte", 6, "6.0", True),
    ("gte", 6, "06", False),
    ("gt", 6, "+7", False),
    ("gt", 6, "7.", False),
    ("gt", 6, ".7e9", False),
    ("gt", 6, "1e400", True),
    ("lt", 0, "-0.5", True),
    ("lte", 0, "-0", True),
    ("gt", 6, "seven", False),
    ("gt", "6", "7", False),
    ("gt", 6, "٧", False),
    ("gt", 0.1, "0.1000000000000000000000001", True),
    ("range", "200,299", "200", True),
    ("range", "200,299", "299", True),
    ("range", " 200 , 299 ", " 250.5 ", True),
    ("range", "-10,-2", "-5", True),
    ("range", "200,299", "299.1", False),
    ("range", "200,299", "many", False),
    ("range", "1,1.0", "1", True),
    ("range", "0,1e400", "1e399", True),
]


@pytest.mark.parametrize(("op", "value", "eval_", "expected"), EVALS)
def test_an_eval_condition_is_true_when_the_table_says(
    op: str, value: Any, eval_: str, expected: bool
) -> None:
    assert holds({"eval": {"op": op, "value": value}}, {"eval": eval_}) is expected


OUTPUTS = [
    # equality is strict by type
    ("k", "equals", True, {"k": True}, True),
    ("k", "equals", True, {"k": "true"}, False),
    ("k", "equals", True, {"k": 1}, False),
    ("k", "equals", 0, {"k": False}, False),
    ("k", "equals", 0, {"k": 0.0}, True),
    ("k", "equals", 0, {"k": "0"}, False),
    ("k", "equals", 0.1, {"k": 0.1}, True),
    ("k", "equals", None, {"k": None}, True),
    ("k", "equals", None, {"k": False}, False),
    ("k", "equals", "a", {"k": "a "}, False),
    ("k", "equals", "a", {"k": "A"}, False),
    ("k", "equals", [1, {"x": [True]}], {"k": [1.0, {"x": [True]}]}, True),
    ("k", "equals", [1, {"x": [True]}], {"k": [1, {"x": [1]}]}, False),
    ("k", "equals", {"a": 1}, {"k": {"a": 1, "b": 2}}, False),
    ("k", "equals", {"a": 1, "b": 2}, {"k": {"b": 2, "a": 1}}, True),
    ("k", "equals", [], {"k": {}}, False),
    ("k", "equals", 12345678901234567890, {"k": 12345678901234567891}, False),
    ("k", "equals", 10**23, {"k": 1e23}, True),
    ("k", "not_equals", 1, {"k": True}, True),
    ("k", "not_equals", 1, {"k": 1.0}, False),
    # order is for numbers only
    ("k", "gt", 0, {"k": 1}, True),
    ("k", "gt", 0, {"k": True}, False),
    ("k", "lt", 2, {"k": True}, False),
    ("k", "gt", 0, {"k": "1"}, False),
    ("k", "gt", "a", {"k": "b"}, False),
    ("k", "gte", 1, {"k": 1.0}, True),
    ("k", "gte", None, {"k": None}, False),
    ("k", "lte", [1], {"k": [1]}, False),
    ("k", "lte", 1.5, {"k": 1}, True),
    ("k", "lt", 9007199254740993, {"k": 9007199254740992}, True),
    # contains
    ("k", "contains", "b", {"k": "abc"}, True),
    ("k", "contains", "b", {"k": ["a", "b"]}, True),
    ("k", "contains", "b", {"k": {"b": 1}}, False),
    ("k", "contains", 1, {"k": [True]}, False),
    ("k", "contains", 1, {"k": [1.0]}, True),
    ("k", "contains", [1], {"k": [[1]]}, True),
    ("k", "contains", 1, {"k": "1"}, False),
    ("k", "not_contains", "b", {"k": {"b": 1}}, True),
    ("k", "not_contains", "b", {"k": 5}, True),
    ("k", "not_contains", "b", {"k": "abc"}, False),
    # strings
    ("k", "starts_with", "ab", {"k": "abc"}, True),
    ("k", "starts_with", "ab", {"k": ["ab"]}, False),
    ("k", "ends_with", "bc", {"k": "abc"}, True),
    ("k", "matches", "b+", {"k": "abbc"}, True),
    ("k", "matches", "^b", {"k": "abbc"}, False),
    ("k", "matches", "(?i)É", {"k": "é"}, True),
    ("k", "matches", "1", {"k": 1}, False),
    # lists of values, types
    ("k", "in", [1, "a"], {"k": 1.0}, True),
    ("k", "in", [1, "a"], {"k": True}, False),
    ("k", "in", [], {"k": 1}, False),
    ("k", "not_in", [1], {"k": True}, True),
    ("k", "not_in", [1], {"k": 1}, False),
    ("k", "type", "null", {"k": None}, True),
    ("k", "type", "number", {"k": True}, False),
    ("k", "type", "boolean", {"k": True}, True),
    ("k", "type", "number", {"k": 1.5}, True),
    ("k", "type", "string", {"k": ""}, True),
    ("k", "type", "array", {"k": []}, True),
    ("k", "type", "object", {"k": {}}, True),
    # there or missing
    ("k", "exists", None, {"k": None}, True),
    ("k", "exists", None, {"k": False}, True),
    ("k", "exists", None, {}, False),
    ("k", "missing", None, {}, True),
    ("k", "missing", None, {"k": None}, False),
    ("k", "not_equals", 1, {}, False),
    ("k", "not_contains", 1, {}, False),
    ("k", "not_in", [1], {}, False),
    ("k", "type", "null", {}, False),
    ("k", "equals", None, {}, False),
    # keys: flat first, then dotted through objects, no indices
    ("a.b", "equals", 1, {"a.b": 1, "a": {"b": 2}}, True),
    ("a.b", "equals", 2, {"a": {"b": 2}}, True),
    ("a.0", "exists", None, {"a": [5]}, False),
    ("a.0", "equals", 5, {"a": {"0": 5}}, True),
    ("0", "exists", None, [5], False),
    ("a..b", "equals", 3, {"a": {"": {"b": 3}}}, True),
    # JSONPath
    ("$", "equals", 5, 5, True),
    ("$", "exists", None, None, True),
    ("$.a.b", "equals", 1, {"a.b": 1}, False),
    ("$['a.b']", "equals", 1, {"a.b": 1}, True),
    ("$.a[0]", "equals", 5, {"a": [5]}, True),
    ("$.a[-1]", "equals", 6, {"a": [5, 6]}, True),
    ("$.a[?@.n > 1].s", "equals", "x", {"a": [{"n": 1, "s": "y"}, {"n": 2, "s": "x"}]}, True),
    ("$.a[?@.n == 1]", "exists", None, {"a": [{"n": True}]}, False),
    ("$.a[?@.n < 2]", "exists", None, {"a": [{"n": True}]}, False),
    ("$.a[?@ == 0.1]", "exists", None, {"a": [0.1]}, True),
]


@pytest.mark.parametrize(("path", "op", "value", "output", "expected"), OUTPUTS)
def test_an_output_condition_is_true_when_the_table_says(
    path: str, op: str, value: Any, output: Any, expected: bool
) -> None:
    when = {"output": {"path": path, "op": op, "value": value}}
    assert holds(when, {"result": "success", "output": output}) is expected


@pytest.mark.parametrize(("path", "op", "value", "output", "expected"), OUTPUTS)
def test_not_is_the_plain_negation_missing_values_included(
    path: str, op: str, value: Any, output: Any, expected: bool
) -> None:
    when = {"not": {"output": {"path": path, "op": op, "value": value}}}
    assert holds(when, {"result": "success", "output": output}) is not expected


SEVERAL = [
    ("gt", 1, "some", [1, 2], True),
    ("gt", 1, "every", [1, 2], False),
    ("gt", 0, "every", [1, 2], True),
    ("gt", 0, "every", [], False),
    ("gt", 0, "some", [], False),
    ("not_equals", 1, "some", [1, 2], True),
    ("not_equals", 1, "every", [1, 2], False),
    ("not_equals", 1, "every", [], False),
    ("exists", None, "every", [], False),
    ("missing", None, "every", [], True),
    ("missing", None, "some", [], True),
    ("missing", None, "some", [1], False),
    ("equals", 2, "count", [5, 6], True),
    ("equals", 0, "count", [], True),
    ("gte", 1, "count", [], False),
    ("not_equals", 0, "count", [], False),
    ("in", [1, 2], "count", [5, 6], True),
    ("type", "number", "count", [], True),
    ("exists", None, "count", [], True),
    ("missing", None, "count", [], False),
]


@pytest.mark.parametrize(("op", "value", "of", "nodes", "expected"), SEVERAL)
def test_of_several_nodes_some_every_or_their_number_counts(
    op: str, value: Any, of: str, nodes: list[Any], expected: bool
) -> None:
    when = {"output": {"path": "$[*]", "op": op, "value": value, "of": of}}
    assert holds(when, {"result": "success", "output": nodes}) is expected


@pytest.mark.parametrize(
    ("op", "value", "of", "expected"),
    [
        ("missing", None, "some", True),
        ("exists", None, "some", False),
        ("not_equals", 1, "some", False),
        ("equals", 1, "every", False),
        ("equals", 0, "count", True),
        ("lt", 1, "count", True),
    ],
)
@pytest.mark.parametrize("path", ["k", "$", "$.k"])
def test_no_output_is_like_a_missing_value(path: str, op: str, value: Any, of: str, expected: bool) -> None:
    when = {"output": {"path": path, "op": op, "value": value, "of": of}}
    assert holds(when, {"result": "success"}) is expected


MERGED = [
    ("k", {"k": 1}, {"k": 2}, 2),
    ("k", {"k": 1}, {"x": 2}, 1),
    ("k", {"k": 1}, [5], 1),
    ("k", {"k": 1}, None, 1),
    ("k.x", {"k": {"x": 1, "y": 1}}, {"k": {"y": 2}}, None),
    ("$.k", {"k": 1}, "text", 1),
]


@pytest.mark.parametrize(("path", "context", "output", "expected"), MERGED)
def test_scope_merged_reads_the_context_overlaid_key_by_key(
    path: str, context: dict[str, Any], output: Any, expected: Any
) -> None:
    op = {"op": "missing"} if expected is None else {"op": "equals", "value": expected}
    outcome = {"result": "success", "output": output}
    policy = {"condition_scope": "merged"}
    assert holds({"output": {"path": path, **op}}, outcome, context=context, policy=policy)
    if expected is not None and path == "k":
        assert holds(
            {"output": {"path": path, **op}}, {"result": "success"}, context=context, policy=policy
        ) is (expected == context["k"])


def test_scope_current_does_not_see_the_context() -> None:
    assert not holds({"output": {"path": "k", "op": "exists"}}, {"result": "success"}, context={"k": 1})


UNPARSEABLE = {"result": "success", "output_error": True}


@pytest.mark.parametrize("op", ["exists", "missing", "equals", "not_equals"])
@pytest.mark.parametrize("scope", ["current", "merged"])
def test_the_first_output_operand_on_unparseable_output_makes_the_task_stuck(op: str, scope: str) -> None:
    rules = [{"when": {"output": {"path": "k", "op": op, "value": 1, "of": "count"}}}, {"to": "c"}]
    line = ruled(*rules, policy={"condition_scope": scope})
    assert goes(line, UNPARSEABLE, context={"k": 1}) == "stuck OutputDataParseError r1"


@pytest.mark.parametrize(
    "when",
    [
        {"any": [{"always": True}, {"output": {"path": "k", "op": "exists"}}]},
        {"not": {"all": [{"result": "failure"}, {"output": {"path": "k", "op": "exists"}}]}},
    ],
)
def test_an_output_operand_that_is_never_reached_raises_nothing(when: Any) -> None:
    assert holds(when, UNPARSEABLE)


def test_an_earlier_rule_may_match_before_unparseable_output_matters() -> None:
    line = ruled({}, {"when": {"output": {"path": "k", "op": "exists"}}})
    assert goes(line, UNPARSEABLE) == YES


@pytest.mark.parametrize("within", ["all", "any"])
def test_left_to_right_the_operand_before_decides_whether_the_next_is_reached(within: str) -> None:
    first = {"result": "success" if within == "all" else "failure"}
    assert (
        stuck({within: [first, {"output": {"path": "k", "op": "exists"}}]}, UNPARSEABLE)
        == "OutputDataParseError"
    )


EDGE = {"edge": {"from": "a", "to": "b", "at_least": 2}}


@pytest.mark.parametrize(("taken", "expected"), [(0, False), (1, False), (2, True), (3, True)])
def test_an_edge_condition_counts_how_often_the_edge_was_taken(taken: int, expected: bool) -> None:
    assert holds(EDGE, {"result": "success"}, edges={"a->b": taken, "b->a": 9}) is expected


def test_an_edge_never_taken_counts_zero() -> None:
    assert not holds(EDGE, {"result": "success"})
