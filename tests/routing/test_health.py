"""Figures of health: at a threshold all is well still (AEEF E28)."""

from __future__ import annotations

import pytest

from pipelines.routing.analysis.health import CYCLE, THRESHOLDS, TODO, Figure, cycle, share


@pytest.mark.parametrize("key", THRESHOLDS)
def test_only_what_is_more_than_its_threshold_is_an_alert_with_something_to_do(key: str) -> None:
    still, more, unknown = (Figure(key, value) for value in (THRESHOLDS[key], THRESHOLDS[key] + 0.01, None))
    assert (still.alert, still.todo, unknown.alert) == (False, "", False)
    assert (more.alert, more.todo) == (True, TODO[key])


def test_the_cycle_is_held_against_what_it_was() -> None:
    assert cycle(30.0, 10.0) == Figure(CYCLE, 3.0, seconds=(30.0, 10.0))
    assert cycle(None, 10.0) == cycle(30.0, 0.0) == Figure(CYCLE, None)


def test_a_share_of_nothing_is_unknown() -> None:
    assert (share(1, 4), share(1, 0)) == (0.25, None)
