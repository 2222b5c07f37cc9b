"""Deadlocks and escalation rules as values, without a database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.decide.deadlocks import is_past_deadlock_limit, shortest_wait_cycle_through
from pipelines.routing.document.line import DocumentError, read_line

PARTS = {"key": "line", "stations": [{"key": "a", "work": {"kind": "noop"}}]}


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        ({}, ()),
        ({"a": ["b"], "b": []}, ()),
        ({"a": ["a"]}, ("a",)),
        ({"a": ["b"], "b": ["a"]}, ("a", "b")),
        ({"a": ["b", "c"], "b": ["c"], "c": ["a"]}, ("a", "c")),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, ()),
    ],
)
def test_E22_the_shortest_circle_through_one_is_found(waits: Any, found: tuple[str, ...]) -> None:
    assert shortest_wait_cycle_through(waits, "a") == found


@pytest.mark.parametrize(("seconds", "late"), [(119.9, False), (120.0, False), (120.1, True)])
def test_E22_late_is_strictly_more_than_twice(seconds: float, late: bool) -> None:
    assert is_past_deadlock_limit(seconds, 60) is late
    assert not is_past_deadlock_limit(seconds, None)


def test_escalation_rules_come_back_as_they_were_written() -> None:
    rule = {
        "trigger": "security",
        "role": "Security Engineer",
        "sla": "2h",
        "on_breach": ["block", "notify"],
        "notify": ["Security lead"],
        "at_once": ["suspend_agent"],
    }
    line = read_line({**PARTS, "escalations": [rule]})
    assert line.to_document()["escalations"] == [{**rule, "sla": 7200}]
    assert read_line(line.to_document()) == line


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ([{"trigger": "x"}], "escalations[0].role"),
        ([{"role": "x"}], "escalations[0].trigger"),
        ([{"trigger": "x", "role": "y", "on_breach": ["block"]}], "escalations[0].on_breach"),
        ([{"trigger": "x", "role": "y", "at_once": ["shout"]}], "escalations[0].at_once[0]"),
        ([{"trigger": "x", "role": "y"}, {"trigger": "x", "role": "z"}], "escalations[1]"),
        ([{"trigger": "x", "role": "y", "sla": "soon"}], "escalations[0].sla"),
    ],
)
def test_what_is_wrong_with_a_rule_is_named_with_its_place(rules: Any, path: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line({**PARTS, "escalations": rules})
    assert [problem.path for problem in refused.value.problems] == [path]
