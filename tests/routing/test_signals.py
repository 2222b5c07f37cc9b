"""Law §5 step 3: the first valid signal decides."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import decided, goes, line, ruled

REVIEW = {"key": "review", "mode": "manual"}
CHECKED = {
    "key": "checked",
    "mode": "auto",
    "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 9, "action": "abort"}]},
}


def signalled(verdict: Any, reason: str | None = None, **meta: Any) -> dict[str, Any]:
    signal = {
        "verdict": verdict,
        **({"reason": reason} if reason else {}),
        **({"meta": meta} if meta else {}),
    }
    return {"exit_code": 0, "signals": [signal]}


def test_abort_fails_the_task_without_gate_and_rule() -> None:
    of = ruled({}, gates=[CHECKED], station={"gate": "checked"})
    assert decided(of, signalled("abort")) == {
        "decision": "finish",
        "end": "failed",
        "kind": "failed",
        "rule": None,
        "by": "signal",
        "error": None,
    }


def test_the_first_valid_signal_decides() -> None:
    signals = [
        {"verdict": "stop"},
        {"reason": "x"},
        {"verdict": 5},
        {"verdict": "abort"},
        {"verdict": "proceed"},
    ]
    assert goes(ruled({}), {"exit_code": 0, "signals": signals}) == "finish failed by signal"


def test_signals_without_a_known_verdict_are_ignored() -> None:
    assert goes(ruled({}), signalled("stop")) == "move b by rule r1"


@pytest.mark.parametrize("reason", [None, "needs_human", "other"])
def test_hold_blocks_with_its_question(reason: str | None) -> None:
    answer = decided(ruled({}), signalled("hold", reason, question="Which one?"))
    assert (answer["status"], answer["question"], answer["rule"], answer["to"]) == (
        "blocked",
        "Which one?",
        None,
        [],
    )


@pytest.mark.parametrize("question", [None, 5, ["x"]])
def test_hold_without_a_question_in_words_has_none(question: Any) -> None:
    assert decided(ruled({}), signalled("hold", question=question))["question"] is None


@pytest.mark.parametrize("target", [None, "nowhere", "@blocked", "@origin", 5])
def test_a_jump_to_nowhere_is_a_hold(target: Any) -> None:
    answer = decided(ruled({}), signalled("hold", "already_complete", targetState=target, question="?"))
    assert (answer["status"], answer["question"]) == ("blocked", "?")


def test_a_jump_bypasses_the_rules() -> None:
    of = ruled({"to": "@blocked"}, jumps="all")
    assert goes(of, signalled("hold", "already_complete", targetState="c")) == "move c by signal"
    assert (
        goes(of, signalled("hold", "already_complete", targetState="completed"))
        == "finish completed by signal"
    )


def test_a_jump_is_free_of_the_revisit_policy_but_not_of_cap_budgets_and_preconditions() -> None:
    of = line(
        {"rules": [{"id": "r", "to": "b"}]},
        {"limits": {"max_visits": 4}},
        policy={"revisit": "forbid", "visit_cap": 9, "on_exhausted": "stuck"},
        jumps=["b"],
    )
    jump = signalled("hold", "already_complete", targetState="b")
    assert goes(of, jump, visited=["a", "b"]) == "move b by signal"
    assert goes(of, jump, visits={"b": 9}) == "stuck VisitLimitExceeded"
    assert goes(of, jump, visits={"b": 4}) == "stuck RetryLimitExceeded"
    assert goes(of, jump, preconditions={"handoff": False}) == "wait held for handoff then b"


ALWAYS_ASKS = [
    ({"mode": "manual"}, True),
    ({"mode": "checks_then_manual"}, True),
    ({"mode": "manual", "requires_approval": False}, False),
    ({"mode": "auto"}, False),
    ({"mode": "skip"}, False),
]


@pytest.mark.parametrize(("gate", "reviewed"), ALWAYS_ASKS)
def test_a_jump_is_reviewed_where_the_line_declares_a_gate_that_always_asks(
    gate: dict[str, Any], reviewed: bool
) -> None:
    of = ruled({}, gates=[{"key": "g", **gate}], jumps=["c"])
    answer = goes(of, signalled("hold", "already_complete", targetState="c"))
    assert answer == ("wait awaiting_review at @jump then c" if reviewed else "move c by signal")


def jumped(word: dict[str, Any], policy: dict[str, Any] | None = None, **facts: Any) -> str:
    of = ruled({"when": {"result": "failure"}, "to": "c"}, gates=[REVIEW], policy=policy or {}, jumps="all")
    jump = signalled("hold", "already_complete", targetState="b")
    return goes(of, jump, gates={"@jump": word}, **facts)


def test_the_review_of_a_jump_knows_every_word() -> None:
    assert jumped({"decision": "approve"}) == "move b by signal"
    assert jumped({"decision": "abort"}) == "finish failed by gate"
    assert jumped({"decision": "reject"}) == "finish failed by gate"
    assert jumped({"decision": "reject"}, {"on_reject": "rework"}) == "move a by gate"
    assert jumped({"decision": "reject", "route": "c"}, {"on_reject": "reviewer_chooses"}) == "move c by gate"
    assert jumped({"decision": "rework"}) == "move c by gate r1"
    assert jumped({"decision": "send_back"}) == "move a by gate"
    assert jumped({"decision": "send_back"}, rounds={"@jump": 3}) == "wait awaiting_review at @jump then b"
    assert jumped({}) == "wait awaiting_review at @jump then b"


def test_a_word_at_the_jump_decides_before_its_preconditions() -> None:
    assert jumped({"decision": "abort"}, open_escalations=1) == "finish failed by gate"
    assert jumped({"decision": "approve"}, open_escalations=1) == "wait held for no_open_escalation then b"


@pytest.mark.parametrize(("limits", "most"), [({}, 3), ({"max_retries": 1}, 1), ({"max_retries": 0}, 0)])
def test_rework_runs_the_station_again_up_to_its_max_retries(limits: dict[str, int], most: int) -> None:
    rules = [{"when": {"verdict": "fail"}, "to": "c"}, {"to": "b"}]
    of = ruled(*rules, station={"limits": limits}, policy={"revisit": "forbid"})
    for done in range(most):
        assert goes(of, signalled("rework"), signal_reworks=done) == "move a by signal"
    assert goes(of, signalled("rework"), signal_reworks=most) == "move c by rule r1"


def test_exhausted_rework_makes_the_verdict_fail_and_changes_nothing_else() -> None:
    when = {"all": [{"result": "success"}, {"verdict": "fail"}, {"eval": {"op": "equals", "value": "ok"}}]}
    assert goes(ruled({"when": when}), signalled("rework"), signal_reworks=3) == "move b by rule r1"
    assert (
        goes(ruled({"when": {"verdict": "pass"}}), signalled("rework"), signal_reworks=3)
        == "finish failed by policy"
    )


def test_exhausted_rework_goes_on_at_the_station_gate_past_the_blockers() -> None:
    of = ruled({"when": {"verdict": "fail"}}, gates=[REVIEW], station={"gate": "review"})
    outcome = {**signalled("rework"), "blockers": ["b"]}
    assert goes(of, outcome, signal_reworks=3) == "wait awaiting_review at review"
    assert (
        goes(of, outcome, signal_reworks=3, gates={"review": {"decision": "approve"}}) == "move b by rule r1"
    )


def test_rework_is_bound_by_the_cap_and_by_the_visits_of_the_station() -> None:
    of = ruled({}, station={"limits": {"max_visits": 2}}, policy={"visit_cap": 5, "on_exhausted": "escalate"})
    assert goes(of, signalled("rework"), visits={"a": 2}) == "escalate RetryLimitExceeded"
    assert goes(of, signalled("rework"), visits={"a": 5}) == "stuck VisitLimitExceeded"


def proceeded(of: ParsedLine, outcome: dict[str, Any] | None = None, **facts: Any) -> str:
    return goes(of, {**signalled("proceed"), **(outcome or {})}, **facts)


def test_proceed_is_the_forced_success_route() -> None:
    of = ruled({"when": {"result": "failure"}}, {"when": {"result": "success"}, "to": "c"})
    assert proceeded(of, {"exit_code": 1}) == "move c by signal r2"
    assert proceeded(of, {"result": "blocked"}) == "move c by signal r2"
    assert proceeded(ruled({"when": {"result": "failure"}}), {"exit_code": 1}) == "move b by policy"


def test_proceed_keeps_of_the_station_gate_only_the_human_step() -> None:
    failing = {"all": [{"field": "exit_code", "operator": "equals", "value": 9, "action": "abort"}]}
    for mode, expected in [
        ("manual", "wait awaiting_review at g"),
        ("checks_then_manual", "wait awaiting_review at g"),
        ("auto", "move b by signal r1"),
        ("skip", "move b by signal r1"),
    ]:
        of = ruled({}, gates=[{"key": "g", "mode": mode, "checks": failing}], station={"gate": "g"})
        assert proceeded(of) == expected
    approved = ruled({}, gates=[REVIEW], station={"gate": "review"})
    assert proceeded(approved, gates={"review": {"decision": "approve"}}) == "move b by signal r1"


def test_no_signal_passes_a_human_gate_of_a_rule() -> None:
    of = ruled({"gates": ["review"]}, gates=[REVIEW])
    assert proceeded(of) == "wait awaiting_review at review then b r1"


def test_a_rework_at_the_gate_of_a_rule_after_proceed_begins_anew() -> None:
    of = ruled({"gates": ["review"]}, {"when": {"result": "failure"}, "to": "c"}, gates=[REVIEW])
    assert proceeded(of, gates={"review": {"decision": "rework"}}) == "move c by gate r2"
