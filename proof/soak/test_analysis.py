"""2,000 drawn stations, each against 2,000 outcomes built to refute what the analysis says of it. Counts are printed.

GATELINE_SOAK_STATIONS and GATELINE_SOAK_OUTCOMES make it shorter or longer.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.routing.regions.drawing import any_stations, listed_stations
from tests.routing.regions.proving import counted, holds_against
from tests.routing.regions.test_brute_force import nothing_is_unknown

STATIONS = int(os.environ.get("GATELINE_SOAK_STATIONS", "2000"))
OUTCOMES = int(os.environ.get("GATELINE_SOAK_OUTCOMES", "2000"))
widely = settings(
    max_examples=STATIONS // 2, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
seeds = st.integers(0, 1_000_000)
pytestmark = pytest.mark.soak


@widely
@given(drawn=any_stations(leaves=6), seed=seeds)
def any_station(drawn: dict[str, Any], seed: int) -> None:
    holds_against(drawn, OUTCOMES, seed)


@widely
@given(drawn=listed_stations(leaves=6), seed=seeds)
def listed_station(drawn: dict[str, Any], seed: int) -> None:
    nothing_is_unknown(holds_against(drawn, OUTCOMES, seed))


@pytest.mark.parametrize("hold", [any_station, listed_station])
def test_what_is_claimed_holds_widely(hold: Any, capsys: pytest.CaptureFixture[str]) -> None:
    counted.clear()
    try:
        hold()
    finally:
        with capsys.disabled():
            print(f"\n{hold.__name__}: " + ", ".join(f"{count:,} {what}" for what, count in counted.items()))
    assert counted["dead"] > 0
