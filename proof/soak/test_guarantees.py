"""5,000 drawn guarantees about drawn lines, each against brute force and random walks. Counts are printed.

GATELINE_SOAK_GUARANTEES, GATELINE_SOAK_STEPS and GATELINE_SOAK_WALKS make it shorter or longer.
"""

from __future__ import annotations

import os

import pytest

from tests.routing.guarantees.agreeing import agrees, counted

GUARANTEES = int(os.environ.get("GATELINE_SOAK_GUARANTEES", "5000"))
STEPS = int(os.environ.get("GATELINE_SOAK_STEPS", "400"))
WALKS = int(os.environ.get("GATELINE_SOAK_WALKS", "5"))
OF_A_LINE = 3
pytestmark = pytest.mark.soak


def test_no_drawn_guarantee_is_contradicted_widely(capsys: pytest.CaptureFixture[str]) -> None:
    counted.clear()
    try:
        for seed in range(-(-GUARANTEES // OF_A_LINE)):
            agrees(seed, STEPS, WALKS)
    finally:
        with capsys.disabled():
            print("\nguarantees: " + ", ".join(f"{count:,} {what}" for what, count in counted.items()))
    assert min(counted["proved"], counted["refuted"]) > GUARANTEES // 5
