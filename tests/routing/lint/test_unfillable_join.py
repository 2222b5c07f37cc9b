"""unfillable-join"""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    assert the_page_is_right("unfillable-join").severity == "error"


def joining(*stations: dict[str, Any], wait_for: list[str] | None = None) -> list[str]:
    """What is said of the last station, d, which joins b and c."""
    last = {
        "key": "d",
        "join": {"wait_for": wait_for or ["b", "c"]},
        "rules": [{"id": "end", "to": "completed"}],
    }
    return [finding.message for finding in found("unfillable-join", line(*stations, last))]


def ruled(key: str, *targets: Any) -> dict[str, Any]:
    return {"rules": [{"id": f"{key}{i}", "to": to} for i, to in enumerate(targets)]}


FORK, B, C = ruled("a", ["b", "c"]), ruled("b", "d"), ruled("c", "d")


def test_a_fork_to_all_that_is_waited_for_fills_it() -> None:
    assert joining(FORK, B, C) == []


def test_a_station_that_never_leads_to_the_join_is_named() -> None:
    assert joining(FORK, B, ruled("c", "completed")) == [
        "The join of d waits for c, which never leads to d",
    ]


def test_it_does_not_wait_for_itself() -> None:
    assert joining(FORK, B, C, wait_for=["b", "d"]) == ["The join of d waits for d itself"]


@pytest.mark.parametrize("before", [ruled("a", "b"), {}])
def test_outside_a_fork_nothing_is_joined(before: dict[str, Any]) -> None:
    onward = {"rules": [{"id": "b0", "when": {"result": "success"}, "to": "d"}, {"id": "b1", "to": "c"}]}
    assert joining(before, onward, C) == [
        "The join of d waits for b and c, which never run in branches of one fork"
    ]


def test_branches_may_take_their_time_and_fork_again() -> None:
    deep = {"key": "deep", "rules": [{"id": "more", "to": ["b", "c"]}]}
    assert joining(ruled("a", ["deep", "e"]), B, C, deep, {"key": "e"}) == []


def test_a_fork_that_is_dead_or_never_reached_fills_nothing() -> None:
    dead = {"rules": [{"id": "always", "to": "b"}, {"id": "never", "to": ["b", "c"]}]}
    onward = {"rules": [{"id": "b0", "when": {"result": "success"}, "to": "d"}, {"id": "b1", "to": "c"}]}
    assert len(joining(dead, onward, C)) == 1
