"""forbidden-parallel"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    assert the_page_is_right("forbidden-parallel").severity == "error"


def test_further_on_in_the_branches_it_is_a_warning_and_after_a_join_nothing() -> None:
    pairs = {"forbidden_parallel": [["c", "d"]]}
    fork = {"rules": [{"id": "f", "to": ["b", "d"]}]}
    onward = {"rules": [{"id": "g", "to": "c"}]}
    [finding] = found("forbidden-parallel", line(fork, onward, {}, {}, **pairs))
    assert finding.severity == "warning"
    joined = {"join": {"wait_for": ["b", "d"]}, "rules": [{"id": "h", "to": "completed"}]}
    rest = {"rules": [{"id": "i", "to": "c"}]}
    assert found("forbidden-parallel", line(fork, onward, joined, rest, **pairs)) == []
