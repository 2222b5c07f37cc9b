"""no-rule-takes"""

from __future__ import annotations

from tests.routing.lint.support import example, found, messages, the_page_is_right
from tests.routing.support import ruled


def test_it_shows_what_is_left_and_what_the_policy_does_with_it() -> None:
    finding = the_page_is_right("no-rule-takes")
    assert finding.message == (
        "No rule of work takes some outcomes that failed: the policy ends the task: failed"
    )


def test_that_blocked_ones_wait_is_told_only_where_a_rule_speaks_of_them() -> None:
    some = {"when": {"all": [{"result": "blocked"}, {"output": {"path": "k", "op": "exists"}}]}}
    others = {"when": {"result": "any"}}
    assert messages("no-rule-takes", ruled(some, others)) == [
        "No rule of a takes some outcomes that are blocked: the task waits, blocked"
    ]
    for when in ({"not": {"verdict": ["pass", "blocked"]}}, {"eval": {"op": "equals", "value": "blocked"}}):
        speaking = ruled({"when": {"any": [{"always": True}, when]}, "to": "completed"})
        assert messages("no-rule-takes", speaking) == []
    assert messages("no-rule-takes", ruled(others)) == []


def test_a_passed_outcome_that_gets_stuck_is_a_warning() -> None:
    of = ruled({"when": {"eval": {"op": "equals", "value": "ok"}}}, policy={"no_match": "stuck"})
    [finding] = [f for f in found("no-rule-takes", of) if f.severity == "warning"]
    assert example(finding) == {"result": "success", "eval": "other"}
    assert "stuck with NoValidTransition" in finding.message


def test_under_a_fallback_the_situation_is_what_no_rule_takes_at_first() -> None:
    of = ruled({"when": {"result": "blocked"}}, policy={"no_match": "fallback"})
    [passed, *_] = found("no-rule-takes", of)
    assert example(passed) == {"result": "success"}
