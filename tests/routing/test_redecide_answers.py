"""A recorded decision under another version: answers that were given, and counters that nobody can know."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.redecide.decided_effect import DecidedEffect, decided_effect
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.redeciding import answer, line, to, tried, word


@pytest.mark.parametrize(
    ("given", "effect"),
    [
        (answer("move", to=["b", "a"]), DecidedEffect("move", ("a", "b"))),
        (answer("finish", end="done", kind="completed"), DecidedEffect("finish", ("done",), "completed")),
        (
            answer("wait", status="awaiting_review", gates=["z", "g"], to=["a"]),
            DecidedEffect("review", ("g", "z")),
        ),
        (
            answer("wait", status="held", to=["b", "a"], missing=["x", "y"]),
            DecidedEffect("held", ("a", "b"), "x, y"),
        ),
        (answer("wait", status="blocked", evaluation=None), DecidedEffect("blocked")),
        (
            answer("wait", status="blocked", evaluation={"q": 1, "a": 2}),
            DecidedEffect("blocked", (), '{"a":2,"q":1}'),
        ),
        (answer("escalate", trigger="x"), DecidedEffect("escalate")),
        (answer("stuck", error="NoRule"), DecidedEffect("stuck", (), "NoRule")),
    ],
)
def test_what_an_answer_comes_to(given: dict[str, Any], effect: DecidedEffect) -> None:
    found = decided_effect(given)
    assert (found, found.rule) == (effect, "r")
    assert found.to_dict() == {
        "kind": effect.kind,
        "to": list(effect.to),
        "detail": effect.detail,
        "rule": "r",
    }


def test_an_evaluation_is_known_by_its_question_and_taken_by_no_rule() -> None:
    found = decided_effect({"decision": "ask", "evaluation": {"q": 1, "a": 2}})
    assert (found, found.rule) == (DecidedEffect("ask", (), '{"a":2,"q":1}'), None)


def test_a_rule_that_nobody_told_is_none() -> None:
    waits = {"decision": "wait", "status": "blocked", "evaluation": None}
    assert (
        decided_effect(waits).rule is None
        and decided_effect({"decision": "stuck", "error": "E"}).rule is None
    )


def test_several_counters_at_once_are_not_tried_but_named() -> None:
    def built(*tests: dict[str, Any]) -> ParsedLine:
        return read_line(
            {
                "gateline": 1,
                "key": "l",
                "name": "L",
                "stations": [
                    {"key": "x", "rules": []},
                    {"key": "y", "rules": []},
                    {
                        "key": "build",
                        "rules": [
                            *(to("fix", name=f"e{i}", when=test) for i, test in enumerate(tests)),
                            to("ship"),
                        ],
                    },
                    {"key": "ship", "rules": []},
                    {"key": "fix", "rules": []},
                ],
            }
        )

    first, second = (
        {"edge": {"from": "x", "to": "build", "at_least": 9}},
        {"edge": {"from": "y", "to": "build", "at_least": 9}},
    )
    old = line(to("ship"))
    assert tried(old, built(first), edges={"gone->build": 8}).verdict == "same"
    assert tried(old, built(first), edges={"gone->build": 9}).reason == "counter_not_recorded"
    assert tried(old, built(first), edges={"gone->build": 4, "lost->build": 5}).verdict == "undecidable"
    found = tried(old, built(first, second), edges={"gone->build": 1})
    assert found.reason == "counter_not_recorded"
    assert "x->build, y->build" in found.message


def test_a_count_too_high_to_be_tried_is_not_decided() -> None:
    never = {"edge": {"from": "x", "to": "build", "at_least": 1000}}
    new = read_line(
        {
            "gateline": 1,
            "key": "l",
            "name": "L",
            "stations": [
                {"key": "x", "rules": []},
                {"key": "build", "rules": [to("fix", name="e", when=never), to("ship")]},
                {"key": "ship", "rules": []},
                {"key": "fix", "rules": []},
            ],
        }
    )
    old = line(to("ship"))
    assert tried(old, new, edges={"gone->build": 100}).verdict == "same"
    assert tried(old, new, edges={"gone->build": 101}).reason == "counter_not_recorded"


def test_what_moved_since_a_gate_asked_is_read_by_step_7_alone() -> None:
    """An edge that a sibling took meanwhile is nothing to the rules; a budget that it spent is."""
    late = to("fix", name="late") | {"when": {"edge": {"from": "fix", "to": "ship", "at_least": 1}}}
    facts = {"gates": word("approve"), "now": {"edges": {"fix->ship": 1}, "rules": {"on": 1}}}
    old = line(to("ship", "look"))
    assert tried(old, line(late, to("ship", "look")), **facts).verdict == "same"
    assert tried(old, line(to("ship", "look", max_retries=2)), **facts).verdict == "same"
    spent = tried(old, line(to("ship", "look", max_retries=1)), **facts)
    assert (spent.verdict, spent.now) == ("different", DecidedEffect("finish", ("failed",), "failed", "on"))
