"""not-publishable"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import ruled


def test_the_page_is_right() -> None:
    assert the_page_is_right("not-publishable").path == "stations[0].work.argv"


def test_a_rule_that_cannot_be_read_is_told_once() -> None:
    assert found("not-publishable", ruled({"to": "zz"})) == []
