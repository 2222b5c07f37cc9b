"""Conditions that somebody answers: evaluators and hooks; and the trace of what each rule saw."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.support import YES, decided, goes, ruled, traced

AGENTIC = {"agentic": {"question": "Is it good?"}}


HOOK = {"hook": {"argv": ["check", "--all"], "timeout": "60s"}}


def asked(evaluation: dict[str, Any], answer: str, **facts: Any) -> dict[str, Any]:
    line = ruled({"when": {**evaluation, "answer": answer}}, {"to": "c"})
    return decided(line, {"result": "success"}, **facts)


@pytest.mark.parametrize(
    ("evaluation", "answer"), [(AGENTIC, "yes"), (AGENTIC, "no"), (HOOK, "pass"), (HOOK, "block")]
)
def test_an_evaluation_whose_answer_is_not_known_is_asked(evaluation: dict[str, Any], answer: str) -> None:
    assert asked(evaluation, answer) == {"decision": "ask", "evaluation": evaluation}


@pytest.mark.parametrize(
    ("evaluation", "wanted", "given", "expected"),
    [
        (AGENTIC, "yes", "yes", "b"),
        (AGENTIC, "yes", "no", "c"),
        (AGENTIC, "no", "no", "b"),
        (HOOK, "pass", "pass", "b"),
        (HOOK, "pass", "block", "c"),
        (HOOK, "block", "block", "b"),
    ],
)
def test_an_answered_evaluation_is_true_when_answered_so(
    evaluation: dict[str, Any], wanted: str, given: str, expected: str
) -> None:
    answers = [{**evaluation, "answer": given}]
    assert asked(evaluation, wanted, answers=answers)["to"] == [expected]


@pytest.mark.parametrize("word", ["unanswered", "maybe", "Yes", "pass", ""])
def test_any_other_word_is_no_answer_and_a_person_has_to_give_one(word: str) -> None:
    answer = asked(AGENTIC, "yes", answers=[{**AGENTIC, "answer": word}])
    assert answer == {
        "decision": "wait",
        "status": "blocked",
        "gates": [],
        "to": [],
        "rule": None,
        "question": None,
        "missing": [],
        "evaluation": AGENTIC,
    }


def test_of_several_answers_the_last_counts() -> None:
    answers = [{**AGENTIC, "answer": word} for word in ("unanswered", "no", "yes")]
    assert asked(AGENTIC, "yes", answers=answers)["to"] == ["b"]
    assert asked(AGENTIC, "yes", answers=answers[::-1])["decision"] == "wait"


@pytest.mark.parametrize("timeout", [60, 60.0, "1m", None])
def test_an_answer_belongs_to_its_evaluation_however_the_timeout_is_written(timeout: Any) -> None:
    given = {"hook": {"argv": ["check", "--all"], **({} if timeout is None else {"timeout": timeout})}}
    assert asked(HOOK, "pass", answers=[{**given, "answer": "pass"}])["to"] == ["b"]


def test_the_answer_to_another_evaluation_does_not_count() -> None:
    other = {"agentic": {"question": "Is it bad?"}, "answer": "yes"}
    assert asked(AGENTIC, "yes", answers=[other])["decision"] == "ask"


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"any": [{**AGENTIC, "answer": "yes"}, {"always": True}]}, "ask"),
        ({"any": [{"always": True}, {**AGENTIC, "answer": "yes"}]}, YES),
        ({"all": [{"result": "failure"}, {**AGENTIC, "answer": "yes"}]}, "move c by rule r2"),
        ({"all": [{"result": "success"}, {**AGENTIC, "answer": "yes"}]}, "ask"),
        ({"not": {**AGENTIC, "answer": "yes"}}, "ask"),
    ],
)
def test_an_evaluation_is_asked_only_when_it_is_reached(when: Any, expected: str) -> None:
    assert goes(ruled({"when": when}, {"to": "c"}), {"result": "success"}) == expected


def test_two_evaluations_are_asked_one_after_the_other() -> None:
    both = ruled({"when": {"all": [{**AGENTIC, "answer": "yes"}, {**HOOK, "answer": "pass"}]}})
    first = decided(both, {"result": "success"})
    assert first["evaluation"] == AGENTIC
    second = decided(both, {"result": "success"}, answers=[{**AGENTIC, "answer": "yes"}])
    assert second["evaluation"] == HOOK


def test_the_trace_shows_each_rule_with_what_it_saw() -> None:
    when = {"all": [{"result": "success"}, {"output": {"path": "$.n", "op": "gt", "value": 5}}]}
    line = ruled({"when": when}, {"when": {"eval": {"op": "equals", "value": "ok"}}})
    trace = traced(line, {"result": "success", "output": {"n": 3}})["trace"]
    assert [entry for entry in trace if entry["step"] == "rules"] == [
        {
            "step": "rules",
            "rule": "r1",
            "result": False,
            "saw": [
                {"operand": "result", "value": "success"},
                {"operand": "output", "path": "$.n", "nodes": [3]},
            ],
            "why": "",
        },
        {
            "step": "rules",
            "rule": "r2",
            "result": True,
            "saw": [{"operand": "eval", "value": "ok"}],
            "why": "",
        },
    ]


def test_the_trace_stays_small_whatever_the_output() -> None:
    line = ruled({"when": {"output": {"path": "$.*", "op": "equals", "value": 1, "of": "every"}}})
    output = {f"k{i}": "x" * 10_000 for i in range(1000)}
    assert len(str(traced(line, {"result": "success", "output": output})["trace"])) < 10_000
