"""unreachable-station"""

from __future__ import annotations

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import OK, decided, line


def test_the_page_is_right() -> None:
    assert the_page_is_right("unreachable-station").station == "fix"


def test_a_dead_rule_is_no_way() -> None:
    of = line({"rules": [{"id": "x", "to": "c"}, {"id": "y", "to": "b"}]}, {}, {})
    assert [f.station for f in found("unreachable-station", of)] == ["b"]


def test_the_policy_and_a_rejection_are_ways() -> None:
    assert found("unreachable-station", line({}, {}, {})) == []
    rules = [{"id": "x", "to": "completed", "gates": ["g"]}]
    of = line({"rules": rules}, {}, gates=[{"key": "g", "on_reject": "route:b"}])
    assert found("unreachable-station", of) == []


def test_a_demanded_rework_that_no_other_rule_takes_leads_where_the_policy_says() -> None:
    rules = [{"id": "x", "to": "completed", "gates": ["g"]}]
    of = line(
        {"rules": rules},
        {"rules": [{"id": "y", "to": "completed"}]},
        gates=[{"key": "g", "offers": ["approve", "rework"]}],
        policy={"on_failure": "station:b"},
    )
    assert decided(of, OK, gates={"g": {"decision": "rework"}})["to"] == ["b"]
    assert found("unreachable-station", of) == []
