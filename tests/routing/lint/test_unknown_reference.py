"""unknown-reference"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line, ruled


def test_the_page_is_right() -> None:
    assert the_page_is_right("unknown-reference").path == "stations[0].rules[0].to"


def test_fields_of_gates_and_inputs_have_to_exist() -> None:
    fields = ("gates.nope", "input.nope", "gates.g", "input.i", "output.nope")
    checks = {"all": [{"field": field, "operator": "exists"} for field in fields]}
    of = line({}, gates=[{"key": "g", "checks": checks}], inputs=[{"key": "i"}])
    assert len(found("unknown-reference", of)) == 2


def test_an_edge_that_nothing_takes_is_a_warning() -> None:
    edge = {"edge": {"from": "c", "to": "a", "at_least": 1}}
    [finding] = found("unknown-reference", ruled({"when": edge}, {}))
    assert finding.severity == "warning"
