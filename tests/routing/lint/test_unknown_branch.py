"""unknown-branch"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    assert the_page_is_right("unknown-branch").path == "stations[3].rules[0].when"


def test_a_composed_path_is_read_and_only_a_join_has_branches() -> None:
    rule = {"id": "r", "to": "completed", "compose": [{"var": "v", "path": "branches.c"}]}
    fork = {"rules": [{"id": "f", "to": ["b", "c"]}]}
    stations = [fork, {}, {}, {"join": {"wait_for": ["b"]}, "rules": [rule]}]
    [finding] = found("unknown-branch", line(*stations))
    assert (finding.severity, finding.path) == ("warning", "stations[3].rules[0].compose[0].path")
    assert found("unknown-branch", line(fork, {}, {}, {"rules": [rule]})) == []
