"""dead-rule"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import ruled


def test_it_names_the_rules_that_together_take_everything() -> None:
    finding = the_page_is_right("dead-rule")
    assert (finding.rule, finding.rules, finding.severity) == ("number", ("high", "low"), "error")


def test_a_rule_killed_by_nothing_but_itself_is_told_by_constant_condition() -> None:
    assert found("dead-rule", ruled({"when": {"result": []}})) == []


def test_a_rule_that_fires_after_a_gate_demanded_rework_is_not_dead() -> None:
    gate = {"key": "g", "mode": "manual", "offers": ["approve", "rework"]}
    rules = ({"gates": ["g"]}, {"when": {"result": "failure"}}, {"when": {"result": "success"}})
    assert [f.rule for f in found("dead-rule", ruled(*rules, gates=[gate]))] == ["r3"]
    assert [f.rule for f in found("dead-rule", ruled(*rules, gates=[{"key": "g"}]))] == ["r2", "r3"]


def test_failure_rules_no_kills_what_takes_failures() -> None:
    of = ruled({"when": {"result": "success"}}, {"when": {"verdict": "fail"}}, policy={"failure_rules": "no"})
    assert found("dead-rule", of) == []
    assert [s.rule for s in found("constant-condition", of)] == []
