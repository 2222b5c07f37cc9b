"""What the canvas says of limits, escalations and what going forward needs, in words."""

from __future__ import annotations

from typing import Any

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.web.lines.badges import line_badges
from tests.routing.support import line

AGAIN = {
    "id": "again",
    "when": {"result": "failure"},
    "to": "a",
    "max_retries": 2,
    "on_exhausted": "escalate",
}
ON = {"id": "on", "when": {"result": "success"}, "to": "b"}


def signs(*stations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return line_badges(LintSubject(line(*stations, **more)))


def test_a_limit_says_how_often_and_what_comes_then() -> None:
    found = signs({"rules": [AGAIN, ON], "limits": {"max_visits": 3}}, {}, policy={"on_exhausted": "stuck"})
    told = "Taken at most 2 times; after that it is escalated to the administrators of the project."
    assert found["rules"] == {"again": {"most": 2, "words": [told]}}
    assert found["stations"]["a"] == {"limits": ["Entered at most 3 times; after that the task is stuck."]}


def test_a_budget_stands_where_it_counts() -> None:
    budgets = [
        {"key": "back", "kind": "edges", "most": 1, "edges": ["a->a"], "on_exhausted": {"to": "b"}},
        {"key": "types", "kind": "failure_type", "most": 2, "failure_types": ["x"], "stations": ["b"]},
        {"key": "restart", "kind": "restart", "most": 2, "on_exhausted": "escalate", "role": "CTO"},
    ]
    found = signs({"rules": [AGAIN, ON]}, {}, budgets=budgets)
    assert found["rules"]["again"]["most"] == 1
    assert "Limit “back”: at most 1 time; after that it goes to b." in found["rules"]["again"]["words"]
    assert found["stations"]["b"]["limits"] == ["Limit “types”: at most 2 times; after that the task fails."]
    assert found["line"] == ["Limit “restart”: at most 2 times; after that it is escalated to CTO."]


def test_an_escalation_stands_where_it_may_arise_with_who_answers() -> None:
    lead = [{"trigger": "on_failure", "role": "Lead", "sla": "4h", "on_breach": ["block"]}]
    found = signs(
        {"rules": [ON]}, {}, policy={"on_failure": "escalate", "no_match": "escalate"}, escalations=lead
    )
    assert found["stations"]["a"]["escalates"] == [
        "Escalated if a station failed. It is for Lead, within 4h; after that all work on the task is held."
    ]


def test_what_going_forward_needs_and_what_never_runs_beside_it_is_told() -> None:
    found = signs({"requires": ["handoff", "metadata:model"]}, {}, forbidden_parallel=[["a", "b"]])
    assert found["stations"]["a"] == {
        "limits": ["Never runs beside b."],
        "needs": ["Going forward needs a valid handoff, model."],
    }


def test_of_a_line_without_any_of_it_nothing_is_said() -> None:
    assert signs({}, {}) == {"stations": {}, "rules": {}, "line": []}
