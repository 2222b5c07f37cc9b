"""shadowed-gate"""

from __future__ import annotations

from tests.routing.lint.support import example, found, the_page_is_right
from tests.routing.support import ruled


def test_the_page_is_right() -> None:
    finding = the_page_is_right("shadowed-gate")
    assert (finding.rule, finding.rules) == ("risky", ("quick",))
    assert example(finding) == {"result": "success", "output": {"risk": 4}}


def test_another_target_or_the_same_gate_is_no_way_round() -> None:
    risky = {"when": {"output": {"path": "r", "op": "exists"}}, "gates": ["g"]}
    of = ruled({"when": {"result": "success"}, "to": "c"}, risky, gates=[{"key": "g"}])
    assert found("shadowed-gate", of) == []
    of = ruled({"when": {"result": "success"}, "gates": ["g"]}, risky, gates=[{"key": "g"}])
    assert found("shadowed-gate", of) == []


def test_rules_behind_one_that_cannot_be_read_are_linted_like_others() -> None:
    unreadable = {"when": {"nonsense": True}}
    guarded = {"when": {"result": "success"}, "gates": ["g"]}
    either = [{"when": {"eval": {"op": "starts_with", "value": each}}} for each in "ab"]
    of = ruled(*either, unreadable, guarded, gates=[{"key": "g"}])
    assert [finding.rules for finding in found("shadowed-gate", of)] == [("r1",), ("r2",)]
