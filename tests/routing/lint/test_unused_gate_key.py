"""unused-gate-key"""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line

FILLED = [{"key": "ring", "type": "text"}]
HOLD = {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]}


def test_the_page_is_right() -> None:
    assert the_page_is_right("unused-gate-key").path == "gates[0].fields"


@pytest.mark.parametrize(
    ("gate", "places"),
    [
        ({"fields": FILLED}, []),
        ({"fields": FILLED, "mode": "skip"}, ["gates[0].fields"]),
        ({"fields": FILLED, "mode": "auto", "checks": HOLD}, []),
        ({"sample": {"one_in": 5}, "mode": "auto", "checks": HOLD}, ["gates[0].sample"]),
        ({"fields": FILLED, "requires_approval": False}, ["gates[0].fields"]),
        ({"fields": FILLED, "offers": ["reject"]}, ["gates[0].fields"]),
        ({"channels": {"mail_link": True}, "mode": "skip"}, ["gates[0].channels"]),
    ],
)
def test_it_finds_what_a_gate_without_people_cannot_use(gate: dict[str, Any], places: list[str]) -> None:
    of = line({"gate": "g"}, {}, gates=[{"key": "g", **gate}])
    assert [each.path for each in found("unused-gate-key", of)] == places
