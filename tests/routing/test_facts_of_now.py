"""After a gate asked or an evaluation was answered, rules and checks stand; step 7 alone reads the facts of the moment
(law §12, Gates and words)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.decide.situation import read_facts
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import OK, decided, ruled, short

G: dict[str, Any] = {"key": "g"}
APPROVED: dict[str, Any] = {"gates": {"g": {"decision": "approve"}}}


def goes(of: ParsedLine, now: dict[str, Any], outcome: dict[str, Any] = OK, **facts: Any) -> str:
    return short(decided(of, outcome, now=now, **facts))


def test_rules_count_edges_as_they_stood() -> None:
    taken = {"edge": {"from": "b", "to": "c", "at_least": 1}}
    of = ruled({"when": taken, "to": "c"}, {"gates": ["g"]}, gates=[G])
    moved = {"edges": {"b->c": 1}}
    assert goes(of, moved) == "wait awaiting_review at g then b r2"
    assert goes(of, moved, **APPROVED) == "move b by rule r2"
    assert goes(of, {"edges": {}}, edges={"b->c": 1}) == "move c by rule r1"


def test_checks_on_counts_stand() -> None:
    first = {"all": [{"field": "run.attempt", "operator": "less_than", "value": 2, "action": "rework"}]}
    of = ruled({"gates": ["g"]}, {"to": "c"}, gates=[{**G, "mode": "checks_then_manual", "checks": first}])
    assert goes(of, {"visits": {"a": 5}}, **APPROVED) == "move b by rule r1"


def test_a_check_does_not_see_what_was_said_at_the_gates_that_were_asked_with_it() -> None:
    """It passed when the gate asked: the word said there since is not what it is about."""
    once = {"any": [{"field": "gates.g", "operator": "equals", "value": "send_back", "action": "rework"}]}
    of = ruled({"gates": ["g"]}, {"to": "c"}, gates=[{**G, "mode": "checks_then_manual", "checks": once}])
    said = {"words": {"g": "send_back"}}
    assert goes(of, {}, **said) == "wait awaiting_review at g then b r1"
    assert goes(of, {}, **said, **APPROVED) == "move b by rule r1"


def test_but_what_was_said_at_a_gate_on_the_way_there() -> None:
    seen = {"all": [{"field": "gates.g", "operator": "equals", "value": "approve", "action": "abort"}]}
    of = ruled(
        {"gates": ["h"]}, gates=[G, {"key": "h", "mode": "auto", "checks": seen}], station={"gate": "g"}
    )
    assert goes(of, {}, **APPROVED) == "move b by rule r1"


STEP_SEVEN: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({}, {"policy": {"revisit": "forbid"}}, {"visits": {"b": 1}}, "stuck CircularWorkflow r1"),
    ({}, {"policy": {"visit_cap": 4}}, {"visits": {"b": 4}}, "stuck VisitLimitExceeded r1"),
    ({"max_retries": 1}, {}, {"rules": {"r1": 1}}, "finish failed by policy with RetryLimitExceeded r1"),
    ({}, {}, {"open_escalations": 1}, "wait held for no_open_escalation then b r1"),
    ({}, {"forbidden_parallel": [["b", "c"]]}, {"beside": ["c"]}, "stuck ForbiddenParallel r1"),
    (
        {},
        {"budgets": [{"key": "n", "kind": "edges", "edges": ["a->b"], "most": 1, "on_exhausted": "stuck"}]},
        {"edges": {"a->b": 1}},
        "stuck RetryLimitExceeded r1",
    ),
    (
        {},
        {
            "budgets": [
                {"key": "n", "kind": "failure_type", "failure_types": ["x"], "most": 1, "role": "lead"}
            ]
        },
        {"failures": {"b:x": 1}},
        "finish failed by policy with RetryLimitExceeded r1",
    ),
]


@pytest.mark.parametrize(("rule", "more", "now", "expected"), STEP_SEVEN)
def test_step_7_reads_the_moment(
    rule: dict[str, Any], more: dict[str, Any], now: dict[str, Any], expected: str
) -> None:
    of = ruled({"gates": ["g"], **rule}, gates=[G], **more)
    outcome = {**OK, "failure_type": "x"} if "failures" in now else OK
    assert goes(of, {}, outcome, **APPROVED) == "move b by rule r1"
    assert goes(of, now, outcome, **APPROVED) == expected


def test_metadata_that_was_supplied_meanwhile_is_there() -> None:
    of = ruled({"gates": ["g"]}, gates=[G], station={"requires": ["metadata:Ticket"]})
    assert goes(of, {"inputs": {"Ticket": "T-1"}}, **APPROVED) == "move b by rule r1"


def test_what_is_composed_is_merged_with_the_variables_of_the_moment() -> None:
    entry = {"var": "chat", "path": "say", "strategy": "append_string_to_chat_history"}
    of = ruled({"gates": ["g"], "compose": [entry]}, gates=[G])
    chat = {"messages": [{"role": "user", "content": "Meanwhile."}]}
    answer = decided(
        of,
        {**OK, "output": {"say": "Done."}},
        variables={"chat": {"messages": []}},
        now={"variables": {"chat": chat}},
        **APPROVED,
    )
    assert answer["variables"]["chat"]["messages"][0]["content"] == "Meanwhile."


def test_an_answered_evaluation_is_decided_on_the_situation_in_which_it_was_asked() -> None:
    asked = {"all": [{"agentic": {"question": "Good?"}, "answer": "yes"}]}
    taken = {"edge": {"from": "b", "to": "c", "at_least": 1}}
    of = ruled({"when": taken, "to": "c"}, {"when": asked}, flags={"agentic_conditions": True})
    answers = [{"agentic": {"question": "Good?"}, "answer": "yes"}]
    assert goes(of, {"edges": {"b->c": 1}}, answers=answers) == "move b by rule r2"
    assert goes(of, {"open_escalations": 1}, answers=answers) == "wait held for no_open_escalation then b r2"


def test_they_are_read_back_as_they_were_written() -> None:
    facts = {"visits": {"a": 1}, "now": {"beside": ["b"], "visits": {"a": 2}, "open_escalations": 0}}
    assert read_facts(read_facts(facts, "facts").to_dict(), "facts") == read_facts(facts, "facts")
