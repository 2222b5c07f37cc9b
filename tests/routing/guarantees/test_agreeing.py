"""Drawn guarantees about drawn lines: no proof is broken by a walk, and each refutation is replayed."""

from __future__ import annotations

import pytest

from tests.routing.guarantees.agreeing import agrees


@pytest.mark.parametrize("block", range(10))
def test_no_drawn_guarantee_is_contradicted(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        agrees(seed, steps=150, walks=2)
