"""Figures of health: at a threshold all is well still (AEEF E28)."""

from __future__ import annotations

import pytest

from pipelines.routing.analysis.health import (
    CYCLE,
    THRESHOLDS,
    TODO,
    Figure,
    cycle_time_figure,
    share_or_none,
)


@pytest.mark.parametrize("key", THRESHOLDS)
def test_only_what_is_more_than_its_threshold_is_an_alert_with_something_to_do(key: str) -> None:
    still, more, unknown = (Figure(key, value) for value in (THRESHOLDS[key], THRESHOLDS[key] + 0.01, None))
    assert (still.is_alert, still.todo, unknown.is_alert) == (False, "", False)
    assert (more.is_alert, more.todo) == (True, TODO[key])


def test_the_cycle_is_held_against_what_it_was() -> None:
    assert cycle_time_figure(30.0, 10.0) == Figure(CYCLE, 3.0, seconds=(30.0, 10.0))
    assert cycle_time_figure(None, 10.0) == cycle_time_figure(30.0, 0.0) == Figure(CYCLE, None)


def test_a_share_of_nothing_is_unknown() -> None:
    assert (share_or_none(1, 4), share_or_none(1, 0)) == (0.25, None)
