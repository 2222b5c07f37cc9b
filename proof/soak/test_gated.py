"""20,000 drawn lines with a gate at their station: every witness decided by the line itself, twice read, and what never
matches attacked. Counts are printed.

GATELINE_SOAK_GATED and GATELINE_SOAK_ATTACKS make it shorter or longer.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.routing.regions.gated import Claims, Refuted

LINES = int(os.environ.get("GATELINE_SOAK_GATED", "20000"))
ATTACKS = int(os.environ.get("GATELINE_SOAK_ATTACKS", "20"))
FIRST = int(os.environ.get("GATELINE_SOAK_SEED", "100000"))
pytestmark = pytest.mark.soak


def test_what_is_shown_of_drawn_lines_is_decided_so_widely(capsys: pytest.CaptureFixture[str]) -> None:
    counted: Counter[str] = Counter()
    refuted = list[str]()
    for seed in range(FIRST, FIRST + LINES):
        try:
            Claims(seed, counted).hold(ATTACKS)
        except Refuted as fault:
            refuted.append(f"seed {seed}: {fault}")
    with capsys.disabled():
        print("\n" + ", ".join(f"{count:,} {what}" for what, count in sorted(counted.items())))
        print(
            f"{len(refuted):,} lines refuted, {counted['unknown'] / counted['rules']:.2%} of the rules unknown"
        )
    assert not refuted, refuted[:3]
    assert counted["unknown"] <= 0.05 * counted["rules"]
