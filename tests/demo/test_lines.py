"""The demo's lines, decided by the law itself: where an outcome leads."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.demo import example
from pipelines.formats import native
from pipelines.routing.analysis.lint.run import lint
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import Line, read_line

SAID = {"accepted": False, "triage": "none"}
REPORTS = [{"name": name} for name in ("lint.sarif", "tests.xml", "security.sarif")]


def line(key: str) -> Line:
    return read_line(native.loads(example.text(key, "/srv/it")))


@pytest.fixture(scope="module")
def check() -> Line:
    return line("repository-check")


def found(high: int = 0, **said: Any) -> dict[str, Any]:
    """The outcome of lint or security."""
    facts = {"findings": {"high": high, "total": high}}
    return {"exit_code": 0, "output": SAID | said, "facts": facts, "artifacts": REPORTS}


def counted(failed: int = 0, errors: int = 0, **said: Any) -> dict[str, Any]:
    facts = {"tests": {"passed": 1, "failed": failed, "errors": errors, "skipped": 0, "suites": 1}}
    return {"exit_code": 0, "output": SAID | said, "facts": facts, "artifacts": REPORTS}


def decision(line: Line, station: str, outcome: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return decide(line, read_situation({"station": station, "outcome": outcome, "facts": facts})).to_dict()


@pytest.mark.parametrize(
    ("station", "outcome", "to"),
    [
        ("checkout", {"exit_code": 0, "output": {}}, ["lint"]),
        ("lint", found(), ["tests"]),
        ("lint", found(1), ["triage"]),
        ("lint", found(1, accepted=True), ["tests"]),
        ("lint", {**found(), "artifacts": []}, ["lint"]),
        ("tests", counted(has_tests=False), ["security"]),
        (
            "tests",
            counted(1) | {"exit_code": 1, "verdict": "fail", "failure_type": "tests_failed"},
            ["triage"],
        ),
        ("tests", counted(errors=1) | {"exit_code": 2, "verdict": "fail"}, ["triage"]),
        ("tests", counted(1, accepted=True), ["security"]),
        ("security", found(1), ["triage"]),
        ("triage", {"result": "success", "output": {"triage": "fixed"}}, ["checkout"]),
    ],
)
def test_where_an_outcome_leads(check: Line, station: str, outcome: dict[str, Any], to: list[str]) -> None:
    found = decision(check, station, outcome)
    assert (found["decision"], found["to"]) == ("move", to)


@pytest.mark.parametrize("station", ["checkout", "lint", "tests", "security", "deliver"])
@pytest.mark.parametrize("result", ["failure", "cancelled"])
def test_a_failing_station_is_retried_twice_and_not_more(check: Line, station: str, result: str) -> None:
    rule = f"{station}-again"
    for taken in (0, 1):
        again = decision(check, station, {"result": result}, rules={rule: taken})
        assert (again["decision"], again["to"], again["rule"]) == ("move", [station], rule)
    last = decision(check, station, {"result": result}, rules={rule: 2})
    assert (last.get("to"), last.get("end")) == (
        (None, "failed") if station == "checkout" else (["triage"], None)
    )


@pytest.mark.parametrize("why", ["refused", "not_a_repository", "no_such_revision", "too_large"])
def test_a_repository_that_cannot_be_had_is_not_tried_again(check: Line, why: str) -> None:
    found = decision(check, "checkout", {"exit_code": 1, "failure_type": why})
    assert (found["decision"], found["end"]) == ("finish", "failed")


@pytest.mark.parametrize("origin", ["lint", "tests", "security"])
def test_an_acceptance_goes_back_to_the_station_that_found_it(check: Line, origin: str) -> None:
    outcome = {"result": "success", "output": {"triage": "accept"}}
    assert decision(check, "triage", outcome, origin=origin)["to"] == [origin]


def test_a_triage_without_a_decision_asks_again(check: Line) -> None:
    for output in ({}, {"triage": "perhaps"}):
        found = decision(check, "triage", {"result": "success", "output": output})
        assert (found["decision"], found["status"], found["rule"]) == ("wait", "blocked", "triage-unclear")


@pytest.mark.parametrize(("word", "rule"), [("fixed", "triage-fixed"), ("accept", "triage-accept")])
def test_triage_goes_round_ten_times_and_not_more(check: Line, word: str, rule: str) -> None:
    outcome = {"result": "success", "output": {"triage": word}}
    assert decision(check, "triage", outcome, origin="lint", rules={rule: 9})["decision"] == "move"
    last = decision(check, "triage", outcome, origin="lint", rules={rule: 10})
    assert (last["decision"], last["error"]) == ("stuck", "RetryLimitExceeded")


@pytest.mark.parametrize("key", ["repository-check", "agent-line"])
def test_lint_has_nothing_against_the_demo(key: str) -> None:
    assert [str(finding) for finding in lint(line(key)) if finding.severity != "info"] == []


def test_a_dropped_task_is_cancelled(check: Line) -> None:
    found = decision(check, "triage", {"result": "success", "output": {"triage": "drop"}})
    assert (found["decision"], found["end"], found["kind"]) == ("finish", "dropped", "cancelled")


def test_a_suite_that_lacks_something_is_blocked_with_a_question(check: Line) -> None:
    signal = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Can you install x?"}}
    outcome = {"exit_code": 2, "verdict": "blocked", "signals": [signal], "blockers": [{"title": "x"}]}
    outcome["artifacts"] = REPORTS
    found = decision(check, "tests", outcome)
    assert (found["decision"], found["status"], found["question"]) == (
        "wait",
        "blocked",
        "Can you install x?",
    )
    silent = decision(check, "tests", outcome | {"signals": []})
    assert (silent["decision"], silent["status"]) == ("wait", "blocked")


def test_nothing_is_delivered_without_a_person(check: Line) -> None:
    outcome = found()
    asked = decision(check, "security", outcome)
    assert (asked["decision"], asked["status"], asked["gates"]) == (
        "wait",
        "awaiting_review",
        ["human-review"],
    )
    approved = decision(check, "security", outcome, gates={"human-review": {"decision": "approve"}})
    assert approved["to"] == ["deliver"]
    rejected = decision(check, "security", outcome, gates={"human-review": {"decision": "reject"}})
    assert (rejected["decision"], rejected["kind"]) == ("finish", "failed")


def test_one_person_can_try_it(check: Line) -> None:
    for each in (check, line("agent-line")):
        approval = each.gate("human-review").approval
        assert approval.requester_may
        assert approval.producer_may
        assert each.gate("human-review").notify == ("reviewer@example.com",)


def test_an_agent_that_is_not_set_up_blocks_the_agent_line() -> None:
    found = decision(
        line("agent-line"),
        "architecture",
        {"exit_code": 78, "verdict": "blocked", "blockers": [{"title": "x"}]},
    )
    assert (found["decision"], found["status"]) == ("wait", "blocked")


def test_the_ready_example_is_the_default_only_where_there_is_one() -> None:
    assert line("repository-check").inputs[0].default == "/srv/it"
    bare = read_line(native.loads(example.text("repository-check", "")))
    assert not bare.inputs[0].has_default
    odd = read_line(native.loads(example.text("repository-check", '/srv/a "b": #c')))
    assert odd.inputs[0].default == '/srv/a "b": #c'
