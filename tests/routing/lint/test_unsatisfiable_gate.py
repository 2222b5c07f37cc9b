"""unsatisfiable-gate"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    assert the_page_is_right("unsatisfiable-gate").path == "gates[0].offers"


def test_one_person_cannot_fill_two_places() -> None:
    who = [{"user": "ada"}, {"user": "ada"}]
    assert len(found("unsatisfiable-gate", line({}, gates=[{"key": "g", "approval": {"who": who}}]))) == 1


def test_a_check_of_a_field_that_does_not_exist_always_fails() -> None:
    checks = {"all": [{"field": "exit_cod", "operator": "equals", "value": 0}]}
    assert len(found("unsatisfiable-gate", line({}, gates=[{"key": "g", "checks": checks}]))) == 1
