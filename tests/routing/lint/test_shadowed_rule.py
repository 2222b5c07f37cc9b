"""shadowed-rule"""

from __future__ import annotations

from tests.routing.lint.support import example, found, the_page_is_right
from tests.routing.support import ruled


def test_the_situation_is_true_of_both_and_goes_to_the_earlier() -> None:
    finding = the_page_is_right("shadowed-rule")
    assert (finding.rule, finding.rules, finding.severity) == ("high", ("broken",), "info")
    assert example(finding) == {"result": "failure", "output": {"high": 1}}
    assert finding.witness and finding.witness.rule == "broken"


def test_each_rule_that_takes_a_part_is_named() -> None:
    rules = [{"when": {"eval": {"op": "contains", "value": letter}}} for letter in "abc"]
    assert [f.rules for f in found("shadowed-rule", ruled(*rules)) if f.rule == "r3"] == [("r1", "r2")]
