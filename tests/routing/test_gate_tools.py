"""Tools of gates: asked for once, judged from data, and as strong as checks (dialect A, gate tools)."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from pipelines.formats.native import json_schema
from pipelines.routing.decide.effects import fact_of_question_outcome
from pipelines.routing.document.line import DocumentError, ParsedLine, read_line
from tests.routing.support import OK, decided, document, goes, ruled, traced

ARGV = ["coverage", "json"]


def gate(key: str = "g1", mode: str = "auto", **tool: Any) -> dict[str, Any]:
    return {"key": key, "mode": mode, "tool": {"argv": ARGV, **tool}}


def guarded(*gates: dict[str, Any], **more: Any) -> ParsedLine:
    """r1 leads to b through these gates; r2 takes failures to c."""
    keys = [each["key"] for each in gates]
    failures = {"when": {"result": "failure"}, "to": "c"}
    return ruled({"gates": keys}, failures, gates=list(gates), **more)


def said(of: ParsedLine, *words: str, text: str = "") -> list[dict[str, Any]]:
    """The fact that the tools of the gates said so, in their order."""
    more = {"text": text} if text else {}
    tools = [each.tool.question(each.key) for each in of.gates if each.tool]
    return [{**each.to_dict(), "answer": word, **more} for each, word in zip(tools, words, strict=False)]


def test_A_tool_gate_has_to_be_run_before_anybody_is_asked() -> None:
    found = decided(guarded(gate(mode="checks_then_manual")), OK)
    assert found["decision"] == "ask"
    assert found["evaluation"]["tool"] == {
        "gate": "g1",
        "argv": ARGV,
        "cwd": ".",
        "env": {},
        "timeout": 60,
        "retries": {"max": 0, "backoff": 1},
        "outcome": {"parse": "exit_code", "success_on": [0]},
    }


RESULTS = [
    ("auto", "pass", {}, "move b by rule r1"),
    ("auto", "warn", {}, "wait awaiting_review at g1 then b r1"),
    ("auto", "warn", {"approve_warnings": True}, "move b by rule r1"),
    ("auto", "fail", {}, "move c by gate r2"),
    ("auto", "fail", {"action": "hold"}, "wait awaiting_review at g1 then b r1"),
    ("auto", "fail", {"action": "abort"}, "finish failed by gate r1"),
    ("auto", "unanswered", {}, "wait blocked to be answered"),
    ("checks_then_manual", "pass", {}, "wait awaiting_review at g1 then b r1"),
    ("manual", "fail", {}, "wait awaiting_review at g1 then b r1"),
]


@pytest.mark.parametrize(("mode", "word", "tool", "expected"), RESULTS)
def test_A_tool_gate_passes_warns_or_fails(mode: str, word: str, tool: dict[str, Any], expected: str) -> None:
    of = guarded(gate(mode=mode, **tool))
    assert goes(of, OK, answers=said(of, word)) == expected


def test_A_tool_gate_that_is_switched_off_passes_and_is_noted() -> None:
    assert goes(guarded(gate(enabled=False)), OK) == "move b by rule r1"
    assert goes(guarded(gate(mode="skip")), OK) == "move b by rule r1"
    (entry,) = [
        each for each in traced(guarded(gate(enabled=False)), OK)["trace"] if "switched" in each["why"]
    ]
    assert (entry["step"], entry["rule"], entry["result"]) == ("rule_gates", "r1", True)
    assert entry["why"] == "g1: its tool is switched off"


def test_what_a_tool_is_asked_and_says_stands_in_the_trace() -> None:
    of = guarded(gate(mode="manual"))
    assert [(each["result"], each["why"]) for each in traced(of, OK)["trace"][1:]] == [
        ("ask", "g1: its tool is run")
    ]
    lost = traced(of, OK, answers=said(of, "unanswered"))["trace"][-1]
    assert (lost["result"], lost["why"]) == ("ask", "g1: its tool has no result")
    shown = [each["why"] for each in traced(of, OK, answers=said(of, "fail"))["trace"]]
    assert "g1: its tool says fail, shown only" in shown


def test_several_tool_gates_on_one_rule_must_all_pass() -> None:
    of = guarded(gate("g1"), gate("g2", argv=["lint"]))
    assert decided(of, OK, answers=said(of, "pass"))["evaluation"]["tool"]["gate"] == "g2"
    assert goes(of, OK, answers=said(of, "pass", "fail")) == "move c by gate r2"
    assert goes(of, OK, answers=said(of, "pass", "pass")) == "move b by rule r1"


def test_what_a_failed_tool_said_is_the_feedback() -> None:
    of = guarded(gate())
    assert decided(of, OK, answers=said(of, "fail", text="70 %"))["feedback"] == "70 %"


def test_a_tool_at_a_station_is_run_before_the_rules() -> None:
    of = ruled({}, {"when": {"result": "failure"}, "to": "c"}, gates=[gate()], station={"gate": "g1"})
    assert goes(of, OK) == "ask"
    assert goes(of, OK, answers=said(of, "fail")) == "move b by gate r1"
    again = ruled({"when": {"result": "failure"}, "to": "c"}, {}, gates=[gate()], station={"gate": "g1"})
    assert goes(again, OK, answers=said(again, "fail")) == "move c by gate r1"
    assert goes(again, OK, answers=said(again, "pass")) == "move b by rule r2"


def test_another_tool_has_another_result() -> None:
    before = guarded(gate())
    after = guarded(gate(outcome={"success_on": [0, 1]}))
    assert goes(after, OK, answers=said(before, "pass")) == "ask"


PASSING = {"output": {"path": "$.percent", "op": "gte", "value": 80}}
WARNING = {"output": {"path": "$.percent", "op": "gte", "value": 60}}
FAILING = {"output": {"path": "$.lost", "op": "exists"}}
CONDITIONS = {"parse": "json", "pass_if": PASSING, "warn_if": WARNING, "fail_if": FAILING}

RUNS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"exit_code": 0}, "pass"),
    ({}, {"exit_code": 1}, "fail"),
    ({"success_on": [0, 3]}, {"exit_code": 3}, "pass"),
    ({}, {"exit_code": 0, "failure_type": "timeout"}, "fail"),
    ({"parse": "json"}, {"exit_code": 0, "failure_type": "parse_error"}, "fail"),
    ({}, {"failure_type": "not_started"}, "fail"),
    (CONDITIONS, {"exit_code": 0, "output": {"percent": 81}}, "pass"),
    (CONDITIONS, {"exit_code": 0, "output": {"percent": 61}}, "warn"),
    (CONDITIONS, {"exit_code": 0, "output": {"percent": 59}}, "fail"),
    (CONDITIONS, {"exit_code": 0, "output": {"percent": 99, "lost": 1}}, "fail"),
    (CONDITIONS, {"exit_code": 2, "output": {"percent": 99}}, "fail"),
    (CONDITIONS, {"exit_code": 0}, "fail"),
    ({"warn_if": WARNING}, {"exit_code": 0, "output": {"percent": 61}}, "warn"),
    ({"warn_if": WARNING}, {"exit_code": 0, "output": {"percent": 1}}, "pass"),
    ({}, {"result": "cancelled", "reason": "lease_lost"}, "unanswered"),
]


@pytest.mark.parametrize(("outcome", "run", "word"), RUNS)
def test_A_tool_gate_is_judged_by_success_on_then_fail_if_then_pass_if_then_warn_if(
    outcome: dict[str, Any], run: dict[str, Any], word: str
) -> None:
    of = guarded(gate(outcome=outcome))
    question = decided(of, OK)["evaluation"]
    assert fact_of_question_outcome(of, question, run)["answer"] == word


WHYS: list[tuple[dict[str, Any], str]] = [
    ({"exit_code": 0, "failure_type": "timeout", "feedback": "Slow."}, "timeout\nSlow."),
    ({"exit_code": 2}, "exit code 2"),
    ({"exit_code": 0, "output": {"lost": 1}}, "fail_if"),
    ({"exit_code": 0, "output": {"percent": 61}}, "warn_if"),
    ({"exit_code": 0, "summary": "Half."}, "pass_if is not met\nHalf."),
    ({"result": "cancelled"}, "The tool could not be run to its end."),
]


@pytest.mark.parametrize(("run", "text"), WHYS)
def test_the_result_says_why_and_names_what_was_asked(run: dict[str, Any], text: str) -> None:
    of = guarded(gate(outcome=CONDITIONS))
    question = decided(of, OK)["evaluation"]
    found = fact_of_question_outcome(of, question, run)
    assert (found["tool"], found["text"]) == (question["tool"], text)


def test_a_tool_survives_writing_and_reading() -> None:
    tool = {
        "argv": ARGV,
        "cwd": "src",
        "env": {"A": "b"},
        "stdin": "x",
        "timeout": "2m",
        "retries": {"max": 2, "backoff": "3s"},
        "outcome": {**CONDITIONS, "success_on": [0, 1]},
        "action": "hold",
        "approve_warnings": True,
        "enabled": False,
    }
    given = document({}, gates=[{"key": "g1", "mode": "auto", "tool": tool}])
    assert jsonschema_rs.validator_for(json_schema()).is_valid(given)
    of = read_line(given)
    assert read_line(of.to_document()) == of


WRONG: dict[str, dict[str, Any]] = {
    "gates[0].tool.argv": {"argv": []},
    "gates[0].tool.outcome.parse": {"outcome": {"parse": "xml"}},
    "gates[0].tool.outcome.success_on[0]": {"outcome": {"success_on": [256]}},
    "gates[0].tool.outcome.pass_if": {
        "outcome": {"pass_if": {"agentic": {"question": "Good?"}, "answer": "yes"}}
    },
    "gates[0].tool.retries.max": {"retries": {"max": 11}},
    "gates[0].tool.action": {"action": "proceed"},
    "gates[0].tool.shell": {"shell": True},
    "gates[0].tool.env.A": {"env": {"A": 1}},
    "gates[0].tool.timeout": {"timeout": "soon"},
}


@pytest.mark.parametrize(("path", "tool"), WRONG.items(), ids=WRONG)
def test_what_is_no_tool_is_refused_with_its_place(path: str, tool: dict[str, Any]) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line(document({}, gates=[gate(**tool)]))
    assert [problem.path for problem in refused.value.problems] == [path]
