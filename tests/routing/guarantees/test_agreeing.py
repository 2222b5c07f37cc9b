"""Drawn guarantees about drawn lines: no proof is broken by a walk, and each refutation is replayed."""

from __future__ import annotations

import pytest

from tests.routing.guarantees.agreeing import agrees


@pytest.mark.smoke(1)
@pytest.mark.parametrize("block", range(20))
def test_no_drawn_guarantee_is_contradicted(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        agrees(seed, steps=40, walks=1)


def test_a_gate_from_which_nothing_leads_on_is_come_to() -> None:
    """Its station has no rules under a policy that refuses that: no way out went through the gate, and that nothing
    reaches it was said to be proved."""
    agrees(1333, steps=40, walks=2)
