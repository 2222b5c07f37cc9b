"""One row for each interplay of operators: what the last rule is."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.routing.regions.support import both, either, eval_, last, output, without

DEAD_ITSELF = "dead in itself"
K = "k"

ROWS: list[tuple[list[dict[str, Any]], str]] = [
    # result, verdict, failure type
    ([{"result": ["success", "failure"]}, {"result": "cancelled"}, {"result": "any"}], "dead (r1 r2)"),
    ([{"result": "any"}, {"result": "blocked"}, {"always": True}], "dead (r1 r2)"),
    ([{"result": "success"}, {"verdict": "pass"}], "partly shadowed"),
    ([both({"result": "blocked"}, {"verdict": "pass"})], DEAD_ITSELF),
    ([both({"result": "blocked"}, {"verdict": "blocked"}, without(eval_("equals", "blocked")))], DEAD_ITSELF),
    ([both({"result": "blocked"}, without(eval_("equals", "blocked")))], "live"),
    ([{"failure_type": ["a", "b"]}, {"failure_type": "b"}], "dead (r1)"),
    ([{"failure_type": "a"}, without({"failure_type": "a"}), {"always": True}], "dead (r1 r2)"),
    ([both({"failure_type": "a"}, {"failure_type": "b"})], DEAD_ITSELF),
    # eval as text
    ([eval_("contains", "ab"), eval_("starts_with", "xab")], "dead (r1)"),
    ([eval_("contains", "a"), eval_("not_contains", "a"), {"always": True}], "dead (r1 r2)"),
    ([both(eval_("starts_with", "ab"), eval_("ends_with", "ba"), without(eval_("contains", "bb")))], "live"),
    ([both(eval_("starts_with", "a"), eval_("starts_with", "b"))], DEAD_ITSELF),
    ([eval_("equals", 7)], DEAD_ITSELF),
    ([eval_("not_equals", 7), {"always": True}], "dead (r1)"),
    # eval as number
    ([eval_("gt", 5), eval_("range", "6,9")], "dead (r1)"),
    ([eval_("gte", 5), eval_("lt", 5), eval_("range", "-9,9")], "dead (r1 r2)"),
    ([eval_("gte", 5), eval_("lt", 5), eval_("equals", "7.0")], "dead (r1)"),
    ([eval_("gte", 5), eval_("lt", 5), eval_("equals", "seven")], "live"),
    ([both(eval_("gt", 5), eval_("contains", "x"))], DEAD_ITSELF),
    ([both(eval_("gt", 5), eval_("ends_with", " "), without(eval_("equals", "6 ")))], "live"),
    ([both(eval_("gt", 5), eval_("lt", 6), without(eval_("equals", "5.5")))], "live"),
    ([both(without(eval_("gt", 5)), without(eval_("lte", 5)))], "live"),
    ([eval_("gt", 5), eval_("lte", 5), output("k", "exists"), eval_("range", "1,2")], "dead (r2)"),
    # values at one place
    ([output(K, "exists"), output(K, "missing"), {"always": True}], "dead (r1 r2)"),
    ([output(K, "exists"), output(K, "not_equals", 1)], "dead (r1)"),
    ([output(K, "equals", 1), output(K, "not_equals", 1), {"always": True}], "partly shadowed"),
    ([output(K, "equals", 1), without(output(K, "equals", 1)), {"always": True}], "dead (r1 r2)"),
    ([output(K, "equals", 1), output(K, "equals", 1.0)], "dead (r1)"),
    ([output(K, "equals", 1), output(K, "equals", True)], "live"),
    ([output(K, "equals", "1"), output(K, "equals", 1)], "live"),
    ([output(K, "type", "boolean"), output(K, "in", [True, False])], "dead (r1)"),
    ([output(K, "in", [True, False]), output(K, "type", "boolean")], "dead (r1)"),
    ([output(K, "type", "null"), output(K, "equals", None)], "dead (r1)"),
    ([output(K, "gt", 0), output(K, "lte", 0), output(K, "type", "number")], "dead (r1 r2)"),
    ([output(K, "gt", 0), output(K, "lt", 0), output(K, "type", "number")], "partly shadowed"),
    ([both(output(K, "gt", 0), output(K, "lt", Decimal("0.0000000001")))], "live"),
    ([both(output(K, "gt", 1), output(K, "lt", 1))], DEAD_ITSELF),
    ([output(K, "gt", "a")], DEAD_ITSELF),
    ([output(K, "in", [1, 2, "x"]), output(K, "in", [2, "x"])], "dead (r1)"),
    ([output(K, "not_in", [1, 2]), output(K, "in", [1]), output(K, "exists")], "partly shadowed"),
    ([output(K, "not_in", [1, 2]), output(K, "in", [1, 2, 3]), output(K, "exists")], "dead (r1 r2)"),
    ([output(K, "in", [])], DEAD_ITSELF),
    # texts and patterns
    ([output(K, "contains", "a"), output(K, "starts_with", "ba")], "dead (r1)"),
    ([output(K, "contains", "a"), output(K, "contains", "b")], "partly shadowed"),
    ([output(K, "starts_with", ""), output(K, "type", "string")], "dead (r1)"),
    ([output(K, "matches", "^[a-c]+$"), output(K, "in", ["a", "cab"])], "dead (r1)"),
    ([output(K, "matches", "^a*$"), output(K, "matches", "^(aa)*$")], "dead (r1)"),
    ([output(K, "matches", "^(aa)*$"), output(K, "matches", "^a*$")], "partly shadowed"),
    ([output(K, "matches", "(?i)ok"), output(K, "ends_with", "oK")], "dead (r1)"),
    (
        [output(K, "matches", r"\d"), both(output(K, "type", "string"), output(K, "equals", "a1"))],
        "dead (r1)",
    ),
    ([output(K, "matches", "^a"), output(K, "starts_with", "a")], "dead (r1)"),
    ([output(K, "matches", "a$"), output(K, "ends_with", "a")], "dead (r1)"),
    (
        [output(K, "matches", "."), output(K, "matches", "^\\n*$"), output(K, "type", "string")],
        "dead (r1 r2)",
    ),
    ([output(K, "matches", r"\bx\b")], "unknown"),
    # lists and objects
    ([output(K, "contains", "z"), output(K, "equals", ["z"])], "dead (r1)"),
    ([output(K, "contains", 1), output(K, "equals", [1.0, 2])], "dead (r1)"),
    ([output(K, "contains", 1), output(K, "contains", True)], "partly shadowed"),
    ([both(output(K, "contains", 1), output(K, "not_contains", 1))], DEAD_ITSELF),
    (
        [both(output(K, "contains", 1), output(K, "contains", 2), without(output(K, "equals", [1, 2])))],
        "live",
    ),
    (
        [both(output("$.k", "contains", 1), output("$.k[1]", "missing"), output("$.k[0]", "equals", 2))],
        DEAD_ITSELF,
    ),
    (
        [both(output("$.k[0]", "equals", 2), output("$.k[-1]", "equals", 3), output("$.k[2]", "missing"))],
        "live",
    ),
    (
        [both(output("$.k[0]", "equals", 2), output("$.k[-1]", "equals", 3), output("$.k[1]", "missing"))],
        DEAD_ITSELF,
    ),
    ([both(output(K, "type", "array"), output(K, "not_in", [[], ["other"]]))], "live"),
    (
        [output(K, "in", [[], [1]]), both(output(K, "type", "array"), output("$.k[0]", "missing"))],
        "dead (r1)",
    ),
    (
        [both(output("$.k[1]", "missing"), output("$.k[0]", "exists"), output(K, "not_equals", ["other"]))],
        "live",
    ),
    (
        [
            both(
                output("$.k[1]", "missing"), output("$.k[0]", "type", "null"), output(K, "not_equals", [None])
            )
        ],
        DEAD_ITSELF,
    ),
    (
        [
            both(
                output("$.k[0]", "type", "boolean"),
                output("$.k[1]", "type", "boolean"),
                output("$.k[2]", "missing"),
                output(K, "not_in", [[True, True], [True, False], [False, True]]),
            )
        ],
        "live",
    ),
    ([output(K, "equals", {"a": 1, "b": 2}), output(K, "equals", {"b": 2.0, "a": 1})], "dead (r1)"),
    # places within each other
    ([output("$.a.b", "exists"), both(output("$.a", "missing"), output("$.a.b", "exists"))], DEAD_ITSELF),
    ([output("$.a", "exists"), output("$.a.b", "equals", 1)], "dead (r1)"),
    ([both(output("$.a", "type", "array"), output("$.a.b", "exists"))], DEAD_ITSELF),
    ([both(output("$.a", "equals", {"b": 1}), output("$.a.b", "gt", 1))], DEAD_ITSELF),
    ([both(output("$", "type", "string"), output("k", "exists"))], DEAD_ITSELF),
    ([output("$.k", "equals", 1), output("k", "equals", 1)], "dead (r1)"),
    ([output("a.b", "equals", 1), output("$.a.b", "equals", 1)], "partly shadowed"),
    ([output("a.b", "equals", 1), output("$['a.b']", "equals", 1)], "dead (r1)"),
    ([output("$['a.b']", "exists"), output("$.a.b", "exists"), output("a.b", "exists")], "dead (r1 r2)"),
    # count of one place
    ([output("$.k", "gte", 1, of="count"), output("$.k", "exists")], "dead (r1)"),
    ([output("$.k", "equals", 0, of="count"), output("$.k", "missing")], "dead (r1)"),
    ([output("$.k", "gt", 1, of="count")], DEAD_ITSELF),
    # edges, answers, free variables
    (
        [
            {"edge": {"from": "a", "to": "b", "at_least": 2}},
            {"edge": {"from": "a", "to": "b", "at_least": 3}},
        ],
        "dead (r1)",
    ),
    (
        [
            {"edge": {"from": "a", "to": "b", "at_least": 3}},
            {"edge": {"from": "a", "to": "b", "at_least": 2}},
        ],
        "partly shadowed",
    ),
    ([without({"edge": {"from": "a", "to": "b", "at_least": 0}})], DEAD_ITSELF),
    ([output("$.f[*].x", "gt", 3), output("$.f[*].x", "gt", 3)], "dead (r1)"),
    ([output("$.f[*].x", "gt", 3), without(output("$.f[*].x", "gt", 3)), {"always": True}], "dead (r1 r2)"),
    ([output("$.f[?@.level == 'high'].x", "exists")], "live"),
    # nesting
    (
        [
            either(output("a", "exists"), output("b", "exists")),
            both(output("a", "exists"), output("c", "exists")),
        ],
        "dead (r1)",
    ),
    (
        [without(either({"result": "success"}, output("a", "gt", 1))), without({"result": "success"})],
        "partly shadowed",
    ),
    ([both(), {"always": True}], "dead (r1)"),
    ([either()], DEAD_ITSELF),
]


@pytest.mark.parametrize(("conditions", "expected"), ROWS)
def test_the_last_rule_is(conditions: list[dict[str, Any]], expected: str) -> None:
    assert last(*conditions) == expected


AGENT = {"agentic": {"question": "Good?"}}


def test_an_evaluation_has_one_answer_for_all_rules() -> None:
    flags = {"flags": {"agentic_conditions": True}}
    assert (
        last({**AGENT, "answer": "yes"}, {**AGENT, "answer": "no"}, {"always": True}, **flags)
        == "dead (r1 r2)"
    )
    assert last({**AGENT, "answer": "yes"}, {**AGENT, "answer": "yes"}, **flags) == "dead (r1)"


def test_in_scope_merged_there_is_always_an_object() -> None:
    assert last(output("$", "exists"), {"always": True}) == "partly shadowed"
    assert last(output("$", "exists"), {"always": True}, policy={"condition_scope": "merged"}) == "dead (r1)"
