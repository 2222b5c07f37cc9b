"""unbounded-cycle"""

from __future__ import annotations

from pipelines.routing.lint.run import visits
from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    finding = the_page_is_right("unbounded-cycle")
    assert "work → fix" in finding.message
    assert "work at most 100" in finding.message


def test_a_budget_on_the_way_bounds_the_cycle() -> None:
    loop = {"id": "x", "when": {"result": "failure"}, "to": "a"}
    assert found("unbounded-cycle", line({"rules": [loop]}, preset="contenox")) != []
    assert found("unbounded-cycle", line({"rules": [{**loop, "max_retries": 2}]}, preset="contenox")) == []
    assert found("unbounded-cycle", line({"rules": [loop]}, preset="alp")) == []
    assert found("unbounded-cycle", line({"rules": [loop]}, preset="vibe-factory")) == []


def test_visits_are_bounded_by_what_leads_there() -> None:
    loop = {"id": "x", "when": {"result": "failure"}, "to": "a", "max_retries": 2}
    assert visits(line({"rules": [loop]}, {}, {"limits": {"max_visits": 1}})) == {"a": 3, "b": 3, "c": 1}
