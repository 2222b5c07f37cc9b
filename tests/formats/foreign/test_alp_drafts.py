"""What ALP only drafted: typed conditions as stations of questions, and tools of gates."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.alp.expressions import ExpressionError, condition_expression, parsed_condition
from pipelines.formats.foreign.document_export import export_document
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.gate_tools import tool_result_and_reason
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.support import decided, goes

OK = {"result": "success"}
WORKED = {"type": "dispatch_worker"}
TYPED = {
    "kind": "typed",
    "when": "success",
    "evaluator": "typesafe/systemone",
    "input": {"from": "job.result"},
    "questions": {"needs_human": {"type": "noul", "instructions": "Does a person have to look?"}, "risk": {}},
    "route": [
        {"if": {"needs_human": {"lt": 0.25}, "risk": {"lte": 2}}, "to": "merge"},
        {"else": True, "to": "merge", "gateId": "approve", "why": "kept"},
    ],
    "fallback": {"to": "stopped", "gateId": "approve"},
}
TOOL = {
    "kind": "cli",
    "runner": "node",
    "command": "lint",
    "args": ["DESIGN.md", "--format", "json"],
    "cwd": "{{project.workspaceDir}}/docs",
    "env": {"LOG_LEVEL": "info"},
    "timeoutSeconds": 90,
    "retries": {"max": 2, "backoffSeconds": 3},
    "outcome": {"parse": "json", "successOn": {"exitCode": 0}, "passIf": "summary.errors == 0",
                "warnIf": "findings[] > 0", "surface": {"findings": "findings[]"}},
    "caching": {"ttlSeconds": 60},
}  # fmt: skip
LINE: dict[str, Any] = {
    "id": "reviewed",
    "name": "Reviewed",
    "stations": [
        {"id": "review", "name": "Review", "trigger": WORKED},
        {"id": "merge", "name": "Merge", "trigger": WORKED},
        {"id": "stopped", "name": "Stopped"},
    ],
    "transitionRules": [
        {"id": "route", "fromColumnId": "review", "toColumnId": "merge", "condition": TYPED},
        {"id": "lost", "fromColumnId": "merge", "toColumnId": "stopped", "condition": "failure"},
        {
            "id": "kept",
            "fromColumnId": "merge",
            "toColumnId": "done",
            "condition": "success",
            "gateId": "lint",
        },
    ],
    "gates": [
        {"id": "approve", "name": "Approve", "description": "Look at it.", "requiresApproval": True},
        {"id": "lint", "name": "Lint", "requiresApproval": False, "tool": TOOL, "notes": "kept"},
    ],
}


def line(**changed: Any) -> str:
    return json.dumps({**LINE, **changed})


def with_condition(**changed: Any) -> str:
    condition = {key: said for key, said in {**TYPED, **changed}.items() if said is not None}
    return line(
        transitionRules=[{**LINE["transitionRules"][0], "condition": condition}, *LINE["transitionRules"][1:]]
    )


def with_gate(**changed: Any) -> str:
    return line(gates=[LINE["gates"][0], {**LINE["gates"][1], **changed}])


def read(text: str) -> tuple[ParsedLine, list[str]]:
    opened = document_import.import_document(text)
    return read_line(opened.document), [str(loss) for loss in opened.losses]


def test_the_answers_to_typed_questions_choose_where_it_goes() -> None:
    given, losses = read(line())
    assert goes(given, OK, station="review").startswith("move route by rule route")
    asked = given.station("route")
    assert [field["type"] for field in asked.work["form"]] == ["number", "number"]
    assert "Does a person have to look?" in asked.work["instructions"]

    def answered(**output: Any) -> str:
        return goes(given, {**OK, "output": output}, station="route")

    assert answered(needs_human=0.1, risk=2).startswith("move merge")
    assert answered(needs_human=0.9, risk=2).startswith("wait awaiting_review at approve then merge")
    assert answered(needs_human=0.1).startswith("wait awaiting_review at approve then stopped"), (
        "no answer falls back"
    )
    assert goes(given, {"result": "failure"}, station="route").endswith("then stopped route-to-stopped")
    assert any("a station of their own" in loss for loss in losses)
    assert any("typesafe/systemone" in loss for loss in losses)


def test_an_outcome_that_is_not_asked_about_goes_on_as_without_the_question() -> None:
    given, _losses = read(with_condition(when="failure"))
    assert goes(given, {"result": "failure"}, station="review").startswith("move route")
    assert goes(given, OK, station="review").startswith("move merge")
    assert goes(given, {"result": "cancelled"}, station="review").startswith("finish failed")


def test_a_question_without_an_answer_falls_back_whatever_is_compared() -> None:
    given, _losses = read(with_condition(route=[{"if": {"risk": {"ne": 9}}, "to": "merge"}]))
    both = {**OK, "output": {"risk": 1, "needs_human": 0}}
    assert goes(given, both, station="route").startswith("move merge")
    for output in ({"risk": 1}, {"needs_human": 0}):
        assert "then stopped" in goes(given, {**OK, "output": output}, station="route")


def test_what_stands_behind_else_is_left_out_and_told() -> None:
    more = [{"else": True, "to": "stopped"}, {"if": {"risk": 1}, "to": "nowhere"}]
    given, losses = read(with_condition(route=[*TYPED["route"], *more]))
    assert len(given.station("route").rules) == 3
    assert [each for each in losses if "left out" in each and "route[2]" in each]
    assert [each for each in losses if "left out" in each and "route[3]" in each]


@pytest.mark.parametrize(
    ("many", "place"),
    [
        ({"questions": {f"q{n}": {} for n in range(101)}, "route": []}, "questions"),
        ({"route": [{"if": {"risk": n}, "to": "merge"} for n in range(101)]}, "route"),
    ],
)
def test_more_questions_or_routes_than_anybody_asks_are_refused(many: dict[str, Any], place: str) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(with_condition(**many))
    assert [each.path for each in error.value.problems] == [f"transitionRules[0].condition.{place}"]


def test_the_comparisons_of_all_typed_conditions_are_bounded_together() -> None:
    questions: dict[str, Any] = {f"q{n}": {} for n in range(100)}
    route = [{"if": {"q1": n}, "to": "merge"} for n in range(100)]
    condition = {**TYPED, "questions": questions, "route": route}
    rules = [{"fromStationId": "review", "condition": condition}] * 2
    with pytest.raises(DocumentError) as error:
        document_import.import_document(line(transitionRules=rules))
    assert [each.path for each in error.value.problems] == ["transitionRules[1].condition.route"]


def gated(**gates: Any) -> str:
    return line(transitionRules=[{**LINE["transitionRules"][0], **gates}, *LINE["transitionRules"][1:]])


@pytest.mark.parametrize("gates", [{"gateId": "approve"}, {"gate": "approve"}, {"_alsoEnforce": ["approve"]}])
def test_the_gate_of_a_typed_rule_is_asked_before_the_questions(gates: dict[str, Any]) -> None:
    given, _losses = read(gated(**gates))
    assert goes(given, OK, station="review").startswith("wait awaiting_review at approve then route")
    [rule, *_others] = json.loads(export_document(given.to_document(), "alp").text)["transitionRules"]
    assert (rule["gateId"], rule["condition"]["kind"], "_alsoEnforce" in rule) == ("approve", "typed", False)


def test_a_gate_of_a_typed_rule_that_there_is_not_is_refused() -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(gated(gateId="nope"))
    assert error.value.problems[0].path == "transitionRules[0].gateId"


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"fallback": None}, "condition.fallback"),
        ({"questions": None}, "condition.questions"),
        ({"when": "sometimes"}, "condition.when"),
        ({"route": [{"if": {"risk": {"near": 1}}, "to": "merge"}]}, "condition.route[0].if.risk"),
        ({"route": [{"if": {"odd": {"lt": 1}}, "to": "merge"}]}, "condition.route[0].if.odd"),
        ({"route": [{"to": "merge"}]}, "condition.route[0].if"),
        ({"route": [{"if": {"risk": {}}, "to": "merge"}]}, "condition.route[0].if"),
        ({"fallback": {"to": "nowhere"}}, "condition.fallback.to"),
        ({"route": [{"else": True, "to": "merge", "gateId": "none"}]}, "condition.route[0].gateId"),
    ],
)
def test_a_typed_condition_that_cannot_be_meant_is_refused_at_its_place(
    wrong: dict[str, Any], place: str
) -> None:
    with pytest.raises(DocumentError) as error:
        document_import.import_document(with_condition(**wrong))
    assert error.value.problems[0].path == f"transitionRules[0].{place}"


def test_the_tool_of_a_gate_is_carried_with_its_expressions() -> None:
    given, losses = read(line())
    tool = given.gates_by_key["lint"].tool
    assert tool is not None and tool.argv == ("lint", "DESIGN.md", "--format", "json")
    assert (tool.cwd, dict(tool.env), tool.timeout, tool.retries.max) == (
        "docs",
        {"LOG_LEVEL": "info"},
        90,
        2,
    )
    assert tool.outcome.pass_if_said == {"output": {"path": "summary.errors", "op": "equals", "value": 0}}
    question = decided(given, OK, station="merge")["evaluation"]

    def said(word: str) -> str:
        return goes(given, OK, station="merge", answers=[{**question, "answer": word}])

    assert said("pass").startswith("finish completed")
    assert said("warn").startswith("finish completed"), "a warning lets it go on"
    assert said("fail").startswith("finish stopped"), "it is denied, and goes as after a failure"
    assert any("runs on a worker of Gateline" in loss for loss in losses)


def test_a_warning_asks_a_person_where_the_gate_says_so() -> None:
    given, _losses = read(with_gate(approveWarnings=True))
    question = decided(given, OK, station="merge")["evaluation"]
    went = goes(given, OK, station="merge", answers=[{**question, "answer": "warn"}])
    assert went.startswith("wait awaiting_review at lint")


def test_a_dry_run_shows_and_decides_nothing_and_an_approval_stays_one() -> None:
    for changed, expected in (
        ({"mode": "dry-run"}, "finish completed"),
        ({"requiresApproval": True}, "wait awaiting_review at lint"),
        ({"enabled": False}, "finish completed"),
    ):
        given, _losses = read(with_gate(**changed))
        found = decided(given, OK, station="merge")
        answers = [{**found["evaluation"], "answer": "pass"}] if found["decision"] == "ask" else []
        assert goes(given, OK, station="merge", answers=answers).startswith(expected)


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"kind": "http"}, "kind"),
        ({"command": ""}, "command"),
        ({"args": ["{{task.title}}"]}, "args"),
        ({"cwd": "../elsewhere"}, "cwd"),
        ({"cwd": "/etc"}, "cwd"),
        ({"cwd": "{{project.workspaceDir}}-x"}, "cwd"),
        ({"stdin": {"file": "a.md"}}, "stdin"),
        ({"secrets": [{"name": "TOKEN"}]}, "secrets"),
        ({"outcome": {"parse": "xml"}}, "outcome.parse"),
        ({"outcome": {"parse": "json", "passIf": "summary.errors == summary.max"}}, "outcome.passIf"),
    ],
)
def test_a_tool_that_cannot_be_said_leaves_it_to_a_person_and_is_told(
    changed: dict[str, Any], place: str
) -> None:
    given, losses = read(with_gate(tool={**TOOL, **changed}))
    assert given.gates_by_key["lint"].tool is None
    assert goes(given, OK, station="merge").startswith("wait awaiting_review at lint")
    assert any(f"gates[1].tool.{place}: " in loss for loss in losses)
    made = json.loads(export_document(given.to_document(), "alp").text)
    assert made["gates"][1]["requiresApproval"] is False, "as it was written"


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        *(({"timeoutSeconds": seconds}, "timeoutSeconds") for seconds in (100_000, 2.5, "30", 0)),
        ({"retries": {"max": 2, "backoffSeconds": 0}}, "retries.backoffSeconds"),
        ({"retries": {"max": 99}}, "retries.max"),
        ({"retries": {"max": "2"}}, "retries.max"),
        ({"retries": 3}, "retries"),
        ({"outcome": {"successOn": "stdout"}}, "outcome.successOn"),
        ({"outcome": "good"}, "outcome"),
        ({}, "stdin"),
    ],
)
def test_what_a_tool_does_otherwise_here_is_told(changed: dict[str, Any], place: str) -> None:
    given, losses = read(with_gate(tool={**TOOL, **changed}))
    assert given.gates_by_key["lint"].tool is not None
    assert any(f"gates[1].tool.{place}: " in loss for loss in losses)
    assert sum("gates[1].tool." in loss for loss in losses) == (1 if place == "stdin" else 2)


def test_a_tool_in_the_folder_of_the_workspace_itself_is_carried() -> None:
    given, losses = read(with_gate(tool={**TOOL, "cwd": "{{project.workspaceDir}}", "stdin": ""}))
    tool = given.gates_by_key["lint"].tool
    assert tool is not None and (tool.cwd, tool.stdin) == (".", "")
    assert not any("gates[1].tool." in loss for loss in losses)


OUTPUT = {"summary": {"errors": 0, "max": "many"}, "findings": [1, 2]}


@pytest.mark.parametrize(
    ("text", "of_the_first"),
    [
        ("summary.errors == 0", True),
        ("findings[] >= 2 && summary.errors < 1", True),
        ("findings[] == 0", False),
        ("!(summary.errors > 0)", True),
        ("!(summary.missing > 0)", False),
        ("!(summary.max > 0)", False),
        ("missing != 1", False),
        ("missing[] == 0", False),
        ("(missing == 1 || summary.errors == 0) && !(findings[] < 2)", True),
        ("summary.max in ['many']", None),
        ('summary.max in ["many"]', True),
        ("summary.max contains 'an'", True),
    ],
)
def test_an_expression_is_false_where_something_is_missing(text: str, of_the_first: bool | None) -> None:
    if of_the_first is None:
        with pytest.raises(ExpressionError):
            parsed_condition(text)
        return
    tool = {"argv": ["lint"], "outcome": {"parse": "json", "pass_if": parsed_condition(text)}}
    gates = [{"key": "g", "mode": "auto", "tool": tool}]
    stations = [{"key": "a", "rules": [{"id": "r", "to": "completed", "gates": ["g"]}]}]
    given = read_line({"gateline": 1, "key": "x", "stations": stations, "gates": gates})
    found = given.gates_by_key["g"].tool
    assert found is not None
    run = {"exit_code": 0, "output": OUTPUT}
    assert tool_result_and_reason(found, run)[0] == ("pass" if of_the_first else "fail")
    assert parsed_condition(condition_expression(parsed_condition(text))) == parsed_condition(text)


@pytest.mark.parametrize("text", ["", "a ==", "a == b", "!a", "a = 1", "(a == 1", "a == 1)", "x in 'abc'", "1 == 1",
                                  "a == 1 && ", "(" * 30 + "a == 1" + ")" * 30, "a" * 3_000, 7])  # fmt: skip
def test_what_is_no_expression_is_none(text: Any) -> None:
    with pytest.raises(ExpressionError):
        parsed_condition(text)
