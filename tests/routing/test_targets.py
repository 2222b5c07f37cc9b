"""Law §5 step 7 and Counting: what stands between a match and its target."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import OK, decided, goes, line, ruled

CIRCLE, CAP, LIMIT = "stuck CircularWorkflow", "stuck VisitLimitExceeded", "stuck RetryLimitExceeded"


def back(policy: dict[str, Any] | None = None, **rule: Any) -> ParsedLine:
    """Station c with one rule, by default back to a."""
    rules = [{"id": "r1", "to": "a", **rule}]
    return line({}, {}, {"rules": rules}, {}, policy=policy or {})


def returns(of: ParsedLine, **facts: Any) -> str:
    return goes(of, OK, station="c", **facts)


# Revisit policy


def test_forbid_refuses_any_station_that_has_had_a_job() -> None:
    of = back({"revisit": "forbid"})
    assert returns(of) == "move a by rule r1"
    assert returns(of, visits={"a": 1}) == f"{CIRCLE} r1"
    assert returns(of, visited=["a"]) == f"{CIRCLE} r1"
    assert returns(of, visited=["b"], visits={"a": 1}) == "move a by rule r1"
    assert goes(ruled({"to": "a"}, policy={"revisit": "forbid"}), OK) == f"{CIRCLE} r1"


def test_forbid_looks_at_every_target_of_a_fork() -> None:
    of = back({"revisit": "forbid"}, to=["d", "a"])
    assert returns(of, visits={"a": 1}) == f"{CIRCLE} r1"
    assert returns(of) == "move d+a by rule r1"


@pytest.mark.parametrize(("visits", "expected"), [(0, True), (1, True), (2, True), (3, False)])
def test_limit_allows_so_many_re_entries(visits: int, expected: bool) -> None:
    of = back({"revisit": "limit:2"})
    assert returns(of, visits={"a": visits}) == ("move a by rule r1" if expected else f"{CIRCLE} r1")


def test_allow_revisit_overrides_the_policy() -> None:
    assert returns(back({"revisit": "forbid"}, allow_revisit=True), visits={"a": 5}) == "move a by rule r1"
    assert returns(back({"revisit": "limit:0"}, allow_revisit=True), visits={"a": 5}) == "move a by rule r1"
    assert returns(back({"revisit": "allow"}, allow_revisit=False), visits={"a": 1}) == f"{CIRCLE} r1"
    assert returns(back({"revisit": "limit:9"}, allow_revisit=False), visits={"a": 1}) == f"{CIRCLE} r1"
    assert returns(back({"revisit": "allow"}, allow_revisit=False)) == "move a by rule r1"


def test_revisit_limits_bind_moves_by_a_rule_only() -> None:
    of = line({}, {}, policy={"revisit": "forbid", "on_failure": "station:a"})
    assert goes(of, OK, visits={"b": 3}) == "move b by policy"
    assert goes(of, {"result": "failure"}) == "move a by policy"


def test_the_revisit_policy_binds_a_forced_route_that_a_rule_takes() -> None:
    of = ruled({"when": {"result": "blocked"}, "to": "c"}, policy={"revisit": "forbid"})
    assert goes(of, {"result": "blocked"}, visits={"c": 1}) == f"{CIRCLE} r1"


# Cap


def test_the_cap_binds_rules_and_policy_alike() -> None:
    assert returns(back(), visits={"a": 99}) == "move a by rule r1"
    assert returns(back(), visits={"a": 100}) == f"{CAP} r1"
    assert returns(back({"visit_cap": 3}, allow_revisit=True), visits={"a": 3}) == f"{CAP} r1"
    assert goes(line({}, {}, policy={"visit_cap": 1}), OK, visits={"b": 1}) == CAP


def test_the_circle_comes_before_the_cap_and_the_cap_before_the_budgets() -> None:
    rule = {"to": ["d", "a"], "max_visits": 1}
    both = back({"revisit": "forbid", "visit_cap": 1}, **rule)
    assert returns(both, visits={"d": 1}, visited=["a"]) == f"{CIRCLE} r1"
    capped = back({"visit_cap": 1}, **rule)
    assert returns(capped, visits={"d": 0, "a": 1}) == f"{CAP} r1"


# Budgets


@pytest.mark.parametrize(("taken", "goes_on"), [(0, True), (1, True), (2, False), (9, False)])
def test_max_retries_is_how_often_the_rule_is_taken(taken: int, goes_on: bool) -> None:
    of = ruled({"to": "a", "max_retries": 2})
    expected = "move a by rule r1" if goes_on else "finish failed by policy with RetryLimitExceeded r1"
    assert goes(of, OK, rules={"r1": taken, "other": 9}) == expected


@pytest.mark.parametrize(("visits", "goes_on"), [(0, True), (2, True), (3, False)])
def test_max_visits_is_how_often_the_target_is_entered_in_all(visits: int, goes_on: bool) -> None:
    of = back(max_visits=3)
    expected = "move a by rule r1" if goes_on else "finish failed by policy with RetryLimitExceeded r1"
    assert returns(of, visits={"a": visits}) == expected


def test_max_retries_zero_is_never_taken() -> None:
    assert goes(ruled({"max_retries": 0}), OK) == "finish failed by policy with RetryLimitExceeded r1"


SELF_LOOPS = [
    ({"to": "a"}, 2, "move a by rule r1"),
    ({"to": "a"}, 3, "finish failed by policy with RetryLimitExceeded r1"),
    ({"to": "@origin"}, 3, "finish failed by policy with RetryLimitExceeded r1"),
    ({"to": ["a", "b"]}, 3, "finish failed by policy with RetryLimitExceeded r1"),
    ({"to": "a", "max_retries": 9}, 3, "move a by rule r1"),
    ({"to": "a", "max_visits": 9}, 3, "move a by rule r1"),
    ({"to": "b"}, 3, "move b by rule r1"),
    ({"to": "a", "on_exhausted": "stuck"}, 3, f"{LIMIT} r1"),
    ({"to": "a", "on_exhausted": {"to": "c"}}, 3, "move c by rule r1"),
]


@pytest.mark.parametrize(("rule", "taken", "expected"), SELF_LOOPS)
def test_the_self_loop_limit_binds_loops_without_a_budget_of_their_own(
    rule: dict[str, Any], taken: int, expected: str
) -> None:
    assert goes(ruled(rule), OK, rules={"r1": taken}, origin="a") == expected


def test_without_a_self_loop_limit_only_the_cap_bounds_a_loop() -> None:
    of = ruled({"to": "a"}, policy={"self_loop_limit": "none"})
    assert goes(of, OK, rules={"r1": 50}) == "move a by rule r1"


EXHAUSTED = [
    (None, "fail", "finish failed by policy with RetryLimitExceeded r1"),
    (None, "stuck", f"{LIMIT} r1"),
    (None, "escalate", "escalate RetryLimitExceeded r1"),
    ("stuck", "fail", f"{LIMIT} r1"),
    ("fail", "stuck", "finish failed by policy with RetryLimitExceeded r1"),
    ("escalate", "fail", "escalate RetryLimitExceeded r1"),
    ({"to": "c"}, "fail", "move c by rule r1"),
    ({"to": "failed"}, "stuck", "finish failed by rule r1"),
    ({"to": "completed"}, "stuck", "finish completed by rule r1"),
]


@pytest.mark.parametrize(("own", "knob", "expected"), EXHAUSTED)
def test_an_exhausted_budget_leads_where_it_says_else_where_the_knob_says(
    own: Any, knob: str, expected: str
) -> None:
    rule = {"max_retries": 1, **({"on_exhausted": own} if own else {})}
    of = ruled(rule, policy={"on_exhausted": knob})
    assert goes(of, OK, rules={"r1": 1}) == expected


def test_a_station_s_max_visits_counts_as_the_knob_s() -> None:
    rule = {"id": "r1", "to": "b", "on_exhausted": {"to": "c"}}
    of = line({"rules": [rule]}, {"limits": {"max_visits": 2}}, {}, policy={"on_exhausted": "escalate"})
    assert goes(of, OK, visits={"b": 1}) == "move b by rule r1"
    assert goes(of, OK, visits={"b": 2}) == "escalate RetryLimitExceeded r1"


def test_a_station_s_max_visits_binds_moves_by_the_policy_too() -> None:
    of = line({}, {"limits": {"max_visits": 2}}, policy={"on_exhausted": "stuck"})
    assert goes(of, OK, visits={"b": 2}) == LIMIT


PRECEDENCE = [
    ("fail", "stuck", "finish failed by policy with RetryLimitExceeded r1"),
    ("stuck", "fail", "finish failed by policy with RetryLimitExceeded r1"),
    ("escalate", "stuck", f"{LIMIT} r1"),
    ("stuck", "escalate", f"{LIMIT} r1"),
    ({"to": "c"}, "escalate", "escalate RetryLimitExceeded r1"),
]


@pytest.mark.parametrize(("own", "knob", "expected"), PRECEDENCE)
def test_of_several_breaches_fail_before_stuck_before_escalate_before_a_target(
    own: Any, knob: str, expected: str
) -> None:
    rule = {"id": "r1", "to": "b", "max_retries": 1, "on_exhausted": own}
    of = line({"rules": [rule]}, {"limits": {"max_visits": 1}}, {}, policy={"on_exhausted": knob})
    assert goes(of, OK, rules={"r1": 1}, visits={"b": 1}) == expected


def instead(to: str = "c", policy: dict[str, Any] | None = None, **more: Any) -> ParsedLine:
    rule = {"max_retries": 0, "on_exhausted": {"to": to}, **more}
    return ruled(rule, policy=policy or {}, gates=[{"key": "g"}])


def test_the_target_of_an_exhausted_budget_is_itself_checked() -> None:
    assert goes(instead(policy={"revisit": "forbid"}), OK, visits={"c": 1}) == f"{CIRCLE} r1"
    assert goes(instead(policy={"visit_cap": 2}), OK, visits={"c": 2}) == f"{CAP} r1"
    assert goes(instead(), OK, open_escalations=1) == "wait held for no_open_escalation then c r1"
    assert (
        goes(instead("completed"), OK, open_escalations=1)
        == "wait held for no_open_escalation then completed r1"
    )
    assert goes(instead("failed"), OK, open_escalations=1) == "finish failed by rule r1"


def test_the_target_of_an_exhausted_budget_is_bound_by_its_own_max_visits() -> None:
    rule = {"id": "r1", "to": "b", "max_retries": 0, "on_exhausted": {"to": "c"}}
    of = line({"rules": [rule]}, {}, {"limits": {"max_visits": 2}}, policy={"on_exhausted": "stuck"})
    assert goes(of, OK, visits={"c": 1}) == "move c by rule r1"
    assert goes(of, OK, visits={"c": 2}) == f"{LIMIT} r1"
    assert goes(of, OK, visits={"c": 2}, open_escalations=1) == f"{LIMIT} r1"


def test_the_target_of_an_exhausted_budget_asks_no_gates_and_sets_no_variables() -> None:
    of = instead(gates=["g"], compose=[{"var": "v", "path": "k"}])
    answer = decided(of, {**OK, "output": {"k": 1}})
    assert (answer["to"], answer["variables"], answer["by"]) == (["c"], {}, "rule")


def test_a_breach_tries_no_further_rule() -> None:
    assert (
        goes(ruled({"max_retries": 0}, {"to": "c"}), OK)
        == "finish failed by policy with RetryLimitExceeded r1"
    )


# Preconditions


def test_a_forward_move_needs_its_preconditions_in_the_order_given() -> None:
    facts = {"preconditions": {"z": False, "met": True, "a": False}, "open_escalations": 1}
    answer = decided(ruled({"to": "c"}), OK, **facts)
    assert answer == {
        "decision": "wait",
        "status": "held",
        "gates": [],
        "to": ["c"],
        "rule": "r1",
        "question": None,
        "missing": ["z", "a", "no_open_escalation"],
        "evaluation": None,
    }


FORWARD = [
    ("d", True),
    ("c", False),
    ("b", False),
    ("completed", True),
    ("delivered", True),
    ("failed", False),
    ("cancelled", False),
    (["a", "d"], True),
    (["a", "b"], False),
    ("@origin", False),
    ("@blocked", False),
]


@pytest.mark.parametrize(("to", "forward"), FORWARD)
def test_forward_is_a_later_station_or_a_completed_end(to: Any, forward: bool) -> None:
    rules = [{"id": "r1", "to": to}]
    of = line({}, {}, {"rules": rules}, {}, ends=[{"key": "delivered", "kind": "completed"}])
    answer = decided(of, OK, station="c", open_escalations=1, origin="a")
    assert (answer.get("status") == "held") is forward


def test_preconditions_bind_moves_by_the_policy_too() -> None:
    of = line({}, {})
    assert goes(of, OK, open_escalations=1) == "wait held for no_open_escalation then b"
    assert goes(of, OK, station="b", preconditions={"x": False}) == "wait held for x then completed"
    assert goes(line({}, policy={"no_rules": "end"}), OK, open_escalations=1) == (
        "wait held for no_open_escalation then completed"
    )
    assert goes(of, {"result": "failure"}, open_escalations=1) == "finish failed by policy"


def test_budgets_come_before_preconditions_and_preconditions_before_gates() -> None:
    of = ruled({"gates": ["g"], "max_retries": 1}, gates=[{"key": "g"}])
    assert goes(of, OK, open_escalations=1, rules={"r1": 1}) == (
        "finish failed by policy with RetryLimitExceeded r1"
    )
    assert goes(of, OK, open_escalations=1) == "wait held for no_open_escalation then b r1"


# @blocked


def test_for_blocked_compose_retries_and_gates_apply_and_nothing_else() -> None:
    policy = {"revisit": "forbid", "visit_cap": 1}
    assert goes(ruled({"to": "@blocked"}, policy=policy), OK, open_escalations=1) == "wait blocked r1"
    assert goes(ruled({"to": "@blocked", "max_retries": 1}), OK, rules={"r1": 1}) == (
        "finish failed by policy with RetryLimitExceeded r1"
    )
    assert goes(ruled({"to": "@blocked", "compose": [{"var": "v", "path": "k"}]}), OK) == (
        "finish failed by policy with compose_failed r1"
    )
    gated = ruled({"to": "@blocked", "gates": ["g"]}, gates=[{"key": "g"}])
    assert goes(gated, OK) == "wait awaiting_review at g then @blocked r1"
    assert goes(gated, OK, gates={"g": {"decision": "approve"}}) == "wait blocked r1"


# Pairs that must never run in parallel


def test_E26_a_fork_into_a_forbidden_pair_is_refused() -> None:
    of = ruled({"to": ["b", "c"]}, forbidden_parallel=[["b", "c"]])
    answer = decided(of, OK)
    assert answer["error"] == "ForbiddenParallel"
    assert answer["message"] == "b and c must never run in parallel."


def test_E26_a_move_beside_a_token_in_the_forbidden_station_is_refused() -> None:
    of = ruled({"to": "b"}, forbidden_parallel=[["c", "b"]])
    assert goes(of, OK, beside=["c"]) == "stuck ForbiddenParallel r1"
    assert goes(of, OK, beside=["a"]) == "move b by rule r1"


def test_what_waits_at_a_join_does_not_run_there() -> None:
    of = line(
        {"rules": [{"id": "r1", "to": "c"}]},
        {},
        {"join": {"wait_for": ["a", "b"]}},
        forbidden_parallel=[["b", "c"]],
    )
    assert goes(of, OK, beside=["b"]) == "move c by rule r1"
