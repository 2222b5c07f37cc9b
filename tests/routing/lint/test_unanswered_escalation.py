"""unanswered-escalation"""

from __future__ import annotations

from typing import Any

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def told(*stations: dict[str, Any], **rule: Any) -> list[tuple[str, str]]:
    of = line(*(stations or ({},)), escalations=[{"trigger": "security", "role": "Lead", **rule}])
    return [(each.severity, each.path) for each in found("unanswered-escalation", of)]


def test_the_page_is_right() -> None:
    assert the_page_is_right("unanswered-escalation").severity == "warning"


def test_without_a_time_to_answer_it_is_a_note() -> None:
    assert told() == [("info", "escalations[0]")]


def test_an_agent_is_suspended_only_where_a_station_names_one() -> None:
    rule = {"sla": "1h", "on_breach": ["suspend_agent"], "at_once": ["suspend_agent"]}
    assert told(**rule) == [("warning", "escalations[0].on_breach"), ("warning", "escalations[0].at_once")]
    assert told({"agent": "coder"}, **rule) == []


def test_of_what_a_preset_brings_nothing_is_said() -> None:
    assert (
        found("unanswered-escalation", line({"rules": [{"id": "r", "to": "completed"}]}, preset="aeef")) == []
    )
