"""contenox B1 to B10, B14, B15, B17 to B20: branches on an eval, `compose`, loops, failing handlers. No database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.lint.support import found
from tests.routing.support import decided, document, goes, ruled, traced


def on(op: str, value: Any, to: str = "b", **more: Any) -> dict[str, Any]:
    return {"when": {"eval": {"op": op, "value": value}}, "to": to, **more}


def chain(*rules: dict[str, Any], **more: Any) -> ParsedLine:
    return ruled(*rules, preset="contenox", **more)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"eval": text, **more}


def takes(op: str, value: Any, text: str) -> bool:
    return goes(chain(on(op, value), {"to": "c"}), said(text)) == "move b by rule r1"


def refused(*rules: dict[str, Any], **more: Any) -> list[str]:
    filled = [{"id": f"r{i}", "to": "b", **each} for i, each in enumerate(rules, 1)]
    with pytest.raises(DocumentError) as error:
        read_line(document({"rules": filled}, {}, **more))
    return [problem.path for problem in error.value.problems]


def test_B1_branches_are_evaluated_top_to_bottom_until_one_is_true() -> None:
    of = chain(on("equals", "no"), on("contains", "es", "c"), on("equals", "yes"))
    trace = traced(of, said("yes"))["trace"]
    assert [(entry["rule"], entry["result"]) for entry in trace if entry["step"] == "rules"] == [
        ("r1", False),
        ("r2", True),
    ]


@pytest.mark.parametrize(
    ("text", "expected"), [("valid", True), ("Valid", False), ("valid ", False), ("val", False)]
)
def test_B2_equals_is_exact(text: str, expected: bool) -> None:
    assert takes("equals", "valid", text) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("valid", False), ("Valid", True), ("valid ", True), ("", True)]
)
def test_B3_not_equals_is_its_exact_inverse(text: str, expected: bool) -> None:
    assert takes("not_equals", "valid", text) is expected


@pytest.mark.parametrize(("text", "expected"), [("api_failure", True), ("api_FAILURE", False), ("ok", False)])
def test_B4_contains_finds_a_part(text: str, expected: bool) -> None:
    assert takes("contains", "fail", text) is expected


@pytest.mark.parametrize(("text", "expected"), [("api_failure", False), ("api_FAILURE", True), ("ok", True)])
def test_B5_not_contains_is_its_inverse(text: str, expected: bool) -> None:
    assert takes("not_contains", "fail", text) is expected


RANGES = [
    ("200,299", "200", True),
    ("200,299", "299", True),
    ("200,299", "250.5", True),
    ("200,299", " 204 ", True),
    ("200,299", "199.999", False),
    ("200,299", "300", False),
    (" -5 , -1.5 ", "-1.5", True),
    ("-5,-1.5", "-1", False),
    ("200,299", "ok", False),
    ("200,299", "", False),
]


@pytest.mark.parametrize(("bounds", "text", "expected"), RANGES)
def test_B6_a_range_holds_both_its_ends_and_numbers_only(bounds: str, text: str, expected: bool) -> None:
    assert takes("range", bounds, text) is expected


@pytest.mark.parametrize("bounds", ["299,200", "200", "200,", "a,b", "1,2,3", "", 200, None])
def test_B6_a_malformed_range_is_refused_when_saved(bounds: Any) -> None:
    assert refused(on("range", bounds)) == ["stations[0].rules[0].when.eval.value"]


@pytest.mark.parametrize("text", ["", "anything", "0"])
def test_B7_default_always_matches(text: str) -> None:
    assert goes(chain(on("equals", "no"), {"to": "c"}), said(text)) == "move c by rule r2"


def test_B7_a_default_stays_where_it_was_put_and_the_lint_says_so() -> None:
    of = chain({}, on("equals", "yes", "c"))
    assert goes(of, said("yes")) == "move b by rule r1"
    assert [(f.rule, f.rules) for f in found("default-not-last", of)] == [("r1", ("r2",))]


def test_B8_end_terminates_the_chain_successfully() -> None:
    of = chain(on("equals", "done", "completed"))
    assert goes(of, said("done")) == "finish completed by rule r1"


def test_B8_a_task_without_branches_is_a_leaf_and_ends_cleanly() -> None:
    assert goes(chain(), said("whatever")) == "finish completed by policy"


def test_B9_a_branch_to_an_unknown_task_is_refused() -> None:
    assert refused(on("equals", "x", "nowhere")) == ["stations[0].rules[0].to"]


def test_B10_no_match_and_no_default_fails_the_task_by_name() -> None:
    of = chain(on("equals", "yes"))
    assert goes(of, said("no")) == "finish failed by policy with NoValidTransition"


@pytest.mark.parametrize("text", ["yes", "maybe"])
def test_B10_what_was_said_stands_in_the_trace(text: str) -> None:
    trace = traced(chain(on("equals", "no")), said(text))["trace"]
    [tested] = [entry for entry in trace if entry["step"] == "rules" and entry["rule"] == "r1"]
    assert text in str(tested["saw"])


def test_B17_a_loop_is_bound_by_how_often_its_edge_was_taken() -> None:
    enough = {"when": {"edge": {"from": "a", "to": "b", "at_least": 3}}, "to": "c"}
    of = chain(enough, on("equals", "tool-call", "b"))
    call = said("tool-call")
    assert [goes(of, call, edges={"a->b": n}) for n in (0, 2, 3)] == [
        "move b by rule r2",
        "move b by rule r2",
        "move c by rule r1",
    ]
    assert goes(of, call, edges={"b->a": 9, "a->c": 9}) == "move b by rule r2"


def test_B17_and_by_the_lines_visit_cap() -> None:
    of = chain(on("equals", "tool-call", "b"))
    call = said("tool-call")
    assert goes(of, call, visits={"b": 99}) == "move b by rule r1"
    assert goes(of, call, visits={"b": 100}) == "stuck VisitLimitExceeded r1"
    capped = chain(on("equals", "tool-call", "b"), policy={"visit_cap": 5})
    assert goes(capped, call, visits={"b": 5}) == "stuck VisitLimitExceeded r1"


def test_B18_the_first_task_of_the_list_is_the_entry() -> None:
    assert read_line(document({"key": "second"}, {"key": "first"})).start == "second"


HANDLED = {"not": {"result": ["failure", "cancelled"]}}


def guarded(*rules: dict[str, Any]) -> ParsedLine:
    """As an import writes a chain: `on_failure` first, every branch behind a handler that did not fail."""
    on_failure = {"when": {"result": ["failure", "cancelled"]}, "to": "c"}
    return chain(on_failure, *({**rule, "when": {"all": [HANDLED, rule["when"]]}} for rule in rules))


FAILURES = [{"result": "failure", "eval": "yes"}, {"result": "cancelled", "eval": "yes"}]


@pytest.mark.parametrize("outcome", FAILURES)
def test_B19_a_failing_handler_goes_to_on_failure_and_reaches_no_branch(outcome: dict[str, Any]) -> None:
    of = guarded(on("equals", "yes"))
    assert goes(of, outcome) == "move c by rule r1"
    assert goes(of, said("yes")) == "move b by rule r2"


@pytest.mark.parametrize("outcome", FAILURES)
def test_B19_without_on_failure_the_chain_fails(outcome: dict[str, Any]) -> None:
    branch = on("equals", "yes")
    of = chain({**branch, "when": {"all": [HANDLED, branch["when"]]}})
    assert goes(of, outcome) == "finish failed by policy"


def test_B19_a_handler_that_fails_is_tried_again_so_often_before_on_failure() -> None:
    again = {"when": {"result": "failure"}, "to": "a", "max_retries": 2, "on_exhausted": {"to": "c"}}
    of = chain(again, on("equals", "yes"))
    failed = {"result": "failure"}
    assert [goes(of, failed, rules={"r1": n}) for n in (0, 1, 2)] == [
        "move a by rule r1",
        "move a by rule r1",
        "move c by rule r1",
    ]


ORDER = [
    ("starts_with", "tool", "tool-call", True),
    ("starts_with", "tool", "no tool", False),
    ("ends_with", "call", "tool-call", True),
    ("ends_with", "call", "calls", False),
    ("gt", 6, "7", True),
    ("gt", 6, "6", False),
    ("gte", 6, "6", True),
    ("lt", 6, "-7.5", True),
    ("lt", 6, "six", False),
    ("lte", 6, "6.0", True),
    ("range", "0,5", "5", True),
]


@pytest.mark.parametrize(("op", "value", "text", "expected"), ORDER)
def test_B20_the_other_operators_of_the_engine(op: str, value: Any, text: str, expected: bool) -> None:
    assert takes(op, value, text) is expected


def test_B20_an_operator_that_no_engine_has_is_refused() -> None:
    assert refused(on("resembles", "x")) == ["stations[0].rules[0].when.eval.op"]
    assert decided(chain(on("resembles", "x")), said("x"))["error"] == "InvalidTransitionSyntax"
