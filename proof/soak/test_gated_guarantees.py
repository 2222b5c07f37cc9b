"""10,000 proofs of lines with a gate at most stations, walked for 100,000 steps; every refutation replayed.

GATELINE_SOAK_GATED makes it shorter or longer: how many lines are drawn, with three guarantees each.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.routing.guarantees.gated_lines import hold

LINES = int(os.environ.get("GATELINE_SOAK_GATED", "8400"))
STEPS = 12
"""Of each proof."""
pytestmark = pytest.mark.soak


def test_no_proof_is_broken_at_a_gate(capsys: pytest.CaptureFixture[str]) -> None:
    counted: Counter[str] = Counter()
    try:
        for seed in range(LINES):
            hold(seed, STEPS, counted)
    finally:
        with capsys.disabled():
            print("\nguarantees: " + ", ".join(f"{count:,} {what}" for what, count in counted.items()))
    assert min(counted["proved"], counted["refuted"]) > LINES
