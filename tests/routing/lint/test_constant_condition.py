"""constant-condition"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import ruled


def test_a_condition_that_contradicts_itself_is_never_true() -> None:
    finding = the_page_is_right("constant-condition")
    assert (finding.severity, finding.path) == ("error", "stations[0].rules[0].when")


def test_a_condition_that_leaves_nothing_out_is_never_false() -> None:
    either = {"any": [{"result": "any"}, {"result": "blocked"}]}
    [finding] = found("constant-condition", ruled({"when": either}))
    assert finding.severity == "warning"


def test_result_any_leaves_blocked_outcomes() -> None:
    assert found("constant-condition", ruled({"when": {"result": "any"}})) == []
