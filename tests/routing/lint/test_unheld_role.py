"""unheld-role"""

from __future__ import annotations

from typing import Any

from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.decide.approval import Voter
from pipelines.routing.document.line import ParsedLine
from tests.routing.lint.support import examples, found
from tests.routing.support import line

PEOPLE = People(
    (Voter("ada", frozenset({"viewer", "reviewer"}), frozenset({"tech-leads", "empty-no"})),),
    groups=(("tech-leads", "Technical lead"), ("empty", "Nobody")),
)


def told(of: ParsedLine, people: People = PEOPLE) -> list[tuple[str, str, str]]:
    each = (f for f in lint_line(of, people) if f.check == "unheld-role")
    return [(f.severity, f.path, f.message.split(":")[0]) for f in each]


def rules(*roles: str, **more: Any) -> ParsedLine:
    said = [{"trigger": f"word-{n}", "role": role, **more} for n, role in enumerate(roles)]
    return line({}, escalations=said)


def test_the_page_is_right() -> None:
    bad, good = examples("unheld-role")
    assert told(bad) == [("warning", "escalations[0].role", "Nobody holds the role Lead")]
    assert told(good) == []


def test_a_group_holds_it_by_its_name_or_its_key_and_else_a_role_of_the_project() -> None:
    assert told(rules("technical LEAD", "Tech leads", "Reviewer")) == []
    assert [each[1] for each in told(rules("empty", "admin"))] == [
        "escalations[0].role",
        "escalations[1].role",
    ]


def test_who_is_only_told_counts_where_somebody_is_told() -> None:
    more = {"sla": "1h", "notify": ["CTO"]}
    assert told(rules("reviewer", **more, on_breach=["block"])) == []
    assert [each[1] for each in told(rules("reviewer", **more, on_breach=["notify"]))] == [
        "escalations[0].notify[0]"
    ]


def test_the_role_of_a_budget_counts_where_it_escalates() -> None:
    budget = {"key": "k", "kind": "restart", "most": 1, "role": "CTO"}
    assert told(line({}, budgets=[budget])) == []
    assert [each[1] for each in told(line({}, budgets=[{**budget, "on_exhausted": "escalate"}]))] == [
        "budgets[0].role"
    ]


def test_what_only_the_preset_names_is_a_note_once_for_each_role() -> None:
    said = told(line({"rules": [{"id": "r", "to": "completed"}]}, preset="aeef"))
    assert {severity for severity, _, _ in said} == {"info"}
    assert len(said) == len({message for _, _, message in said})


def test_without_people_nothing_is_said() -> None:
    assert found("unheld-role", rules("Lead")) == []
