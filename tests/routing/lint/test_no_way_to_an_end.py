"""no-way-to-an-end"""

from __future__ import annotations

from tests.routing.lint.support import examples, found
from tests.routing.support import line


def test_the_page_is_right() -> None:
    bad, good = examples("no-way-to-an-end")
    assert [f.station for f in found("no-way-to-an-end", bad)] == ["work", "fix"]
    assert found("no-way-to-an-end", good) == []


def test_a_failure_that_halts_the_task_is_a_way_to_an_end() -> None:
    of = line({"rules": [{"id": "x", "when": {"result": "success"}, "to": "a"}]})
    assert found("no-way-to-an-end", of) == []
