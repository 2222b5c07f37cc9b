"""Vibe Factory C1 to C20, C27 to C30: conditions and the ways that they open. No database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.lint.support import found
from tests.routing.support import FAILED, OK, decided, document, goes, line, ruled, traced

VIBE_FACTORY = "vibe-factory"
NO_WAY = "stuck NoValidTransition"


def key(name: str, op: str = "exists", **more: Any) -> dict[str, Any]:
    return {"when": {"output": {"path": name, "op": op, **more}}}


def on(result: str, to: str = "b", **more: Any) -> dict[str, Any]:
    return {"when": {"result": result}, "to": to, **more}


def factory(*rules: dict[str, Any], **more: Any) -> ParsedLine:
    return ruled(*rules, preset=VIBE_FACTORY, **more)


def holds(rule: dict[str, Any], outcome: dict[str, Any]) -> bool:
    answer = goes(factory(rule), outcome)
    assert answer in ("move b by rule r1", NO_WAY), answer
    return answer == "move b by rule r1"


def output(value: Any) -> dict[str, Any]:
    return {"result": "success", "output": value}


def problems(**rule: Any) -> list[str]:
    """What is refused when a line with this rule is saved: places and messages."""
    with pytest.raises(DocumentError) as error:
        read_line(document({"rules": [{"id": "r1", "to": "b", **rule}]}, {}))
    return [str(problem) for problem in error.value.problems]


def test_C1_a_transition_belongs_to_its_source_and_none_is_left_without_its_target() -> None:
    rule = {"id": "r1", "to": "b", "label": "Looks good"}
    [read] = read_line(document({"rules": [rule]}, {})).station("a").rules
    assert (read.id, read.to, read.label) == ("r1", ("b",), "Looks good")
    with pytest.raises(DocumentError) as error:
        read_line(document({"rules": [rule]}))
    assert [problem.path for problem in error.value.problems] == ["stations[0].rules[0].to"]


@pytest.mark.parametrize("rule", [{}, {"when": {"always": True}}])
@pytest.mark.parametrize(
    "outcome", [OK, FAILED, {"result": "cancelled"}, {"exit_code": 0, "output_error": "not JSON"}]
)
def test_C2_always_is_true_whatever_the_outcome_and_looks_at_no_output(
    rule: dict[str, Any], outcome: dict[str, Any]
) -> None:
    assert holds(rule, outcome)


def test_C3_success_is_true_of_a_completed_station_only() -> None:
    assert goes(factory(on("success")), OK) == "move b by rule r1"
    assert goes(factory(on("success")), FAILED) == "finish failed by policy"


def test_C4_failure_is_true_of_a_failed_station_only() -> None:
    assert goes(factory(on("failure")), FAILED) == "move b by rule r1"
    assert goes(factory(on("failure")), OK) == NO_WAY


def test_C5_a_conditional_reads_the_output() -> None:
    rule = key("status", "equals", value="ready")
    assert holds(rule, output({"status": "ready"}))
    assert not holds(rule, output({"status": "draft"}))


@pytest.mark.parametrize("value", [True, False, None, 0, "", [], {}])
def test_C6_a_key_exists_with_any_value(value: Any) -> None:
    assert holds(key("review_passed"), output({"review_passed": value}))
    assert not holds(key("review_passed"), output({"other": value}))


EQUAL = [
    (True, True, True),
    (True, "true", False),
    (0, "0", False),
    (0, False, False),
    (0, 0.0, True),
    (1, True, False),
    (None, None, True),
    (None, False, False),
    ("ready", "Ready", False),
    ([1, {"a": None}], [1, {"a": None}], True),
    ([1, 2], [2, 1], False),
]


@pytest.mark.parametrize(("said", "value", "equal"), EQUAL)
def test_C8_equality_is_strict_by_type_and_numbers_are_numbers(said: Any, value: Any, equal: bool) -> None:
    assert holds(key("k", "equals", value=value), output({"k": said})) is equal


def test_C8_what_is_missing_equals_nothing() -> None:
    assert not holds(key("k", "equals", value=None), output({}))


@pytest.mark.parametrize("when", [5, ["review_passed"], True, None, {"key": "k"}, {}])
def test_C10_what_is_no_condition_is_refused_and_never_quietly_true_or_false(when: Any) -> None:
    assert any(problem.startswith("stations[0].rules[0].when") for problem in problems(when=when))
    assert goes(factory({"when": when}), output({"k": 1})) == "stuck InvalidTransitionSyntax r1"


@pytest.mark.parametrize("op", ["exists", "equals", "not_equals", "gt", "contains"])
def test_C11_a_missing_key_is_false_and_no_error(op: str) -> None:
    more = {} if op == "exists" else {"value": 1}
    assert goes(factory(key("missing", op, **more), {"to": "c"}), output({"k": 1})) == "move c by rule r2"


def test_C12_without_output_conditionals_are_false_and_the_others_work() -> None:
    assert not holds(key("review_passed"), OK)
    assert holds(on("success"), OK)
    assert holds({}, OK)
    assert goes(factory(on("failure")), FAILED) == "move b by rule r1"


UNREADABLE = {"result": "success", "output_error": "line 1: not JSON"}


def test_C13_output_that_is_not_json_is_an_error_where_a_conditional_asks_for_it() -> None:
    answer = decided(factory(key("review_passed"), {"to": "c"}), UNREADABLE)
    assert (answer["error"], answer["rule"]) == ("OutputDataParseError", "r1")


def test_C13_it_is_none_where_no_conditional_is_reached() -> None:
    assert goes(factory(on("success"), key("review_passed")), UNREADABLE) == "move b by rule r1"


def test_C14_the_first_match_wins_and_a_later_one_is_not_evaluated() -> None:
    of = factory(on("failure"), key("k"), on("success", "c"))
    trace = traced(of, output({"k": 1}))["trace"]
    assert [(entry["rule"], entry["result"]) for entry in trace if entry["step"] == "rules"] == [
        ("r1", False),
        ("r2", True),
    ]


FAULTY: list[dict[str, Any]] = [
    {"when": {"output": {"op": "exists"}}},
    {"when": {"output": {"path": "$[", "op": "exists"}}},
    {"when": {"sometimes": True}},
]


@pytest.mark.parametrize("rule", FAULTY)
def test_C15_each_transition_is_validated_just_before_it_is_evaluated(rule: dict[str, Any]) -> None:
    bad = {"to": "c", **rule}
    assert goes(factory(on("failure"), bad, {}), OK) == "stuck InvalidTransitionSyntax r2"
    assert goes(factory({}, bad), OK) == "move b by rule r1", "after the match it harms nothing"


@pytest.mark.parametrize("rule", FAULTY)
def test_C15_and_when_it_is_created(rule: dict[str, Any]) -> None:
    assert problems(**rule)


def test_C16_without_transitions_a_completed_station_completes_the_task() -> None:
    of = line({}, {}, preset=VIBE_FACTORY)
    assert goes(of, OK) == "finish completed by policy"


def test_C16_and_a_failed_one_fails_it() -> None:
    assert goes(line({}, {}, preset=VIBE_FACTORY), FAILED) == "finish failed by policy"


def test_C17_transitions_of_which_none_is_true_leave_the_task_stuck() -> None:
    assert goes(factory(on("failure"), key("k")), OK) == NO_WAY


def test_C18_the_lint_tells_what_no_transition_takes_until_a_fallback_stands_last() -> None:
    without = [f for f in found("no-rule-takes", factory(key("k"))) if f.station == "a"]
    assert without
    assert all(finding.witness for finding in without)
    assert [f for f in found("no-rule-takes", factory(key("k"), on("any", "c"))) if f.station == "a"] == []


CIRCLE = "stuck CircularWorkflow r1"


@pytest.mark.parametrize("to", ["a", "b"])
def test_C19_a_station_that_ran_before_is_not_entered_again(to: str) -> None:
    of = factory({"to": to})
    assert goes(of, OK, visits={"a": 1, "b": 1}) == CIRCLE


def test_C19_failed_attempts_and_self_loops_count() -> None:
    assert goes(factory(on("failure", "a")), FAILED) == CIRCLE
    assert goes(factory(on("success", "c")), OK, visited=["a", "c"]) == CIRCLE
    assert goes(factory(on("success", "c")), OK, visited=["a"]) == "move c by rule r1"


def test_C20_a_failed_station_takes_a_transition_that_matches_failure() -> None:
    assert goes(factory(on("success"), on("failure", "c")), FAILED) == "move c by rule r2"
    assert goes(factory(on("success"), {"to": "c"}), FAILED) == "move c by rule r2"
    failed = {"result": "failure", "output": {"k": 1}}
    assert goes(factory(on("success"), {**key("k"), "to": "c"}), failed) == "move c by rule r2"


def test_C20_else_the_task_fails_and_is_not_stuck() -> None:
    assert goes(factory(on("success"), key("k")), FAILED) == "finish failed by policy"


def test_C20_the_literal_variant_tries_no_transition_after_a_failure() -> None:
    of = factory(on("failure", "c"), policy={"failure_rules": "no"})
    assert goes(of, FAILED) == "finish failed by policy"
    assert goes(factory(on("success", "c"), policy={"failure_rules": "no"}), OK) == "move c by rule r1"


# C27: the unit tests that the document lists


def test_C27_key_existence() -> None:
    assert holds(key("review_passed"), output({"review_passed": True, "score": 95}))
    assert not holds(key("nonexistent"), output({"review_passed": True}))


@pytest.mark.parametrize(("name", "value"), [("passed", True), ("status", "approved"), ("score", 95)])
def test_C27_value_equality_of_booleans_texts_and_numbers(name: str, value: Any) -> None:
    data = output({"passed": True, "status": "approved", "score": 95})
    assert holds(key(name, "equals", value=value), data)
    assert not holds(key(name, "equals", value="other"), data)


def test_C27_unconditional_success_failure_and_no_output() -> None:
    assert holds({}, OK)
    assert holds(on("success"), OK)
    assert holds(on("failure"), FAILED)
    assert not holds(key("any_key"), OK)


def test_C27_validation() -> None:
    assert problems(when={"output": {"op": "equals", "value": 1}})
    assert problems(when={"output": {"path": "k", "op": "equals"}})
    assert problems(when={"unknown": True})


# C28: what the document leaves to the future

TESTS = {
    "test_results": [{"status": "passed"}, {"status": "failed"}],
    "test_failures": 3,
    "review": {"ok": True},
}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"path": "$.test_results[?@.status == 'failed']", "op": "equals", "value": 0, "of": "count"}, False),
        ({"path": "$.test_results[?@.status == 'skipped']", "op": "equals", "value": 0, "of": "count"}, True),
        ({"path": "review.ok", "op": "equals", "value": True}, True),
        ({"path": "$.review.ok", "op": "equals", "value": True}, True),
        ({"path": "test_failures", "op": "lt", "value": 5}, True),
        ({"path": "test_failures", "op": "gte", "value": 5}, False),
        ({"path": "$.test_results[*].status", "op": "in", "value": ["passed"], "of": "every"}, False),
        ({"path": "$.test_results[0].status", "op": "matches", "value": "^pass"}, True),
    ],
)
def test_C28_paths_filters_counts_and_order(condition: dict[str, Any], expected: bool) -> None:
    assert holds({"when": {"output": condition}}, output(TESTS)) is expected


def test_C28_a_flat_key_comes_before_a_dotted_path() -> None:
    both = output({"review.ok": "flat", "review": {"ok": "nested"}})
    assert holds(key("review.ok", "equals", value="flat"), both)


def test_C29_the_order_of_the_document_is_the_priority() -> None:
    assert goes(factory(on("success", "c"), on("success", "b")), OK) == "move c by rule r1"
    assert problems(priority=5)


def test_C30_allow_revisit_lets_a_transition_return() -> None:
    visits = {"a": 1, "c": 1}
    assert goes(factory({"to": "c"}), OK, visits=visits) == CIRCLE
    assert goes(factory({"to": "c", "allow_revisit": True}), OK, visits=visits) == "move c by rule r1"


@pytest.mark.parametrize(("visits", "enters"), [(0, True), (1, True), (2, True), (3, False), (4, False)])
def test_C30_max_retries_3_is_3_visits_in_all(visits: int, enters: bool) -> None:
    of = factory({"to": "c", "allow_revisit": True, "max_visits": 3})
    expected = "move c by rule r1" if enters else "stuck RetryLimitExceeded r1"
    assert goes(of, OK, visits={"a": 1, "c": visits}) == expected


def test_C30_it_binds_that_transition_only() -> None:
    bound = {"to": "c", "allow_revisit": True, "max_visits": 1, **key("k")}
    of = factory(bound, {"to": "c", "allow_revisit": True})
    assert goes(of, OK, visits={"c": 5}) == "move c by rule r2"
