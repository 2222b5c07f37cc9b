"""default-not-last"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import ruled


def test_it_names_the_rules_below() -> None:
    finding = the_page_is_right("default-not-last")
    assert (finding.rule, finding.rules) == ("rest", ("broken",))


def test_always_true_and_an_empty_all_are_no_conditions() -> None:
    assert [f.rule for f in found("default-not-last", ruled({"when": {"always": True}}, {}))] == ["r1"]
    assert [f.rule for f in found("default-not-last", ruled({"when": {"all": []}}, {}))] == ["r1"]
