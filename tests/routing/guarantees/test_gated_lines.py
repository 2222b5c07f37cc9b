"""Drawn guarantees about lines with a gate at most stations: no proof is broken, each refutation is replayed."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.routing.guarantees.gated_lines import GatedLine, hold


@pytest.mark.smoke(1)
@pytest.mark.parametrize("block", range(4))
def test_no_proof_is_broken_at_a_gate(block: int) -> None:
    counted: Counter[str] = Counter()
    for seed in range(10_000 + block * 10, 10_000 + block * 10 + 10):
        hold(seed, 40, counted)
    assert counted["proved"] and counted["refuted"], counted


def test_the_lines_have_what_they_are_drawn_for() -> None:
    documents = [GatedLine(seed).document for seed in range(200)]
    stations = [station for document in documents for station in document["stations"]]
    assert sum("gate" in station for station in stations) > len(stations) // 2
    assert {type(document.get("jumps")) for document in documents} == {str, list, type(None)}
    assert any("join" in station for station in stations)
