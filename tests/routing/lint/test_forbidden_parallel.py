"""forbidden-parallel"""

from __future__ import annotations

import pytest

from pipelines.routing.document.line import ParsedLine
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


def branching(*, inner: bool) -> ParsedLine:
    """a forks to b and e; b forks to c and d, which f joins; or a forks to all three at once."""
    fork = [{"id": "f", "to": ["b", "e"]}] if inner else [{"id": "f", "to": ["c", "d", "e"]}]
    return line(
        {"rules": fork},
        {"rules": [{"id": "g", "to": ["c", "d"]}]},
        {"rules": [{"id": "c0", "to": "f"}]},
        {"rules": [{"id": "d0", "to": "f"}]},
        {"rules": [{"id": "e0", "to": "completed"}]},
        {"join": {"wait_for": ["c", "d"]}, "rules": [{"id": "f0", "to": "completed"}]},
        forbidden_parallel=[["f", "e"]],
    )


@pytest.mark.parametrize("inner", [True, False])
def test_what_goes_on_after_a_join_runs_beside_the_branches_that_it_did_not_wait_for(inner: bool) -> None:
    [finding] = found("forbidden-parallel", branching(inner=inner))
    assert (finding.severity, finding.rule) == ("warning", "f")


def test_a_station_may_be_forbidden_to_run_twice_at_once() -> None:
    fork = {"rules": [{"id": "f", "to": ["b", "c"]}]}
    onward = {"rules": [{"id": "g", "to": "d"}]}
    other = {"rules": [{"id": "h", "to": "d"}]}
    [finding] = found("forbidden-parallel", line(fork, onward, other, {}, forbidden_parallel=[["d", "d"]]))
    assert finding.severity == "warning"
