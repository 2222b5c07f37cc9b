"""The demo's lines, decided by the law itself: where an outcome leads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats import native
from pipelines.lines.demo import example, lint_example
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line

REPORTS = [{"name": name} for name in ("lint.sarif", "tests.xml", "security.sarif")]


def line(key: str) -> ParsedLine:
    return read_line(native.loads(example.example_line_text(key, "/srv/it")))


@pytest.fixture(scope="module")
def check() -> ParsedLine:
    return line("repository-check")


def findings(high: int = 0) -> dict[str, Any]:
    """Return the outcome of lint or security."""
    facts = {"findings": {"high": high, "total": high}}
    return {"exit_code": 0, "facts": facts, "artifacts": REPORTS}


def counted(failed: int = 0, errors: int = 0, suites: int = 1, exit_code: int = 0) -> dict[str, Any]:
    facts = {"tests": {"passed": 1, "failed": failed, "errors": errors, "skipped": 0, "suites": suites}}
    return {"exit_code": exit_code, "facts": facts, "artifacts": REPORTS}


def decision(line: ParsedLine, station: str, outcome: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return decide(line, read_situation({"station": station, "outcome": outcome, "facts": facts})).to_dict()


PUSHED = {"result": "success", "eval": "pushed"}


@pytest.mark.parametrize(
    ("station", "outcome", "to"),
    [
        ("lint", findings(), ["tests"]),
        ("lint", findings(1), ["triage"]),
        ("lint", {**findings(), "artifacts": []}, ["lint"]),
        ("lint", PUSHED | {"artifacts": REPORTS}, ["lint"]),
        ("tests", counted(), ["security"]),
        ("tests", counted(suites=0, exit_code=5), ["security"]),
        ("tests", counted(1, exit_code=1), ["triage"]),
        ("tests", counted(errors=1, exit_code=2), ["triage"]),
        ("triage", {"result": "success", "output": {"triage": "again"}}, ["tests"]),
        ("deliver", {"result": "failure", "failure_type": "base_moved", "eval": "base_moved"}, ["lint"]),
    ],
)
def test_where_an_outcome_leads(
    check: ParsedLine, station: str, outcome: dict[str, Any], to: list[str]
) -> None:
    made = decision(check, station, outcome, origin="tests")
    assert (made["decision"], made["to"]) == ("move", to)


@pytest.mark.parametrize("station", ["lint", "tests", "security"])
@pytest.mark.parametrize("result", ["failure", "cancelled"])
def test_a_failing_station_is_retried_twice_and_not_more(
    check: ParsedLine, station: str, result: str
) -> None:
    rule = f"{station}-again"
    for taken in (0, 1):
        again = decision(check, station, {"result": result}, rules={rule: taken})
        assert (again["decision"], again["to"], again["rule"]) == ("move", [station], rule)
    last = decision(check, station, {"result": result}, rules={rule: 2})
    assert last["to"] == ["triage"]


@pytest.mark.parametrize("origin", ["lint", "tests", "security"])
def test_triage_goes_back_to_the_station_that_found_it(check: ParsedLine, origin: str) -> None:
    outcome = {"result": "success", "output": {"triage": "again"}}
    assert decision(check, "triage", outcome, origin=origin)["to"] == [origin]


def test_a_triage_without_a_decision_asks_again(check: ParsedLine) -> None:
    for output in ({}, {"triage": "perhaps"}):
        made = decision(check, "triage", {"result": "success", "output": output})
        assert (made["decision"], made["status"], made["rule"]) == ("wait", "blocked", "triage-unclear")


def test_triage_goes_round_ten_times_and_not_more(check: ParsedLine) -> None:
    outcome = {"result": "success", "output": {"triage": "again"}}
    assert decision(check, "triage", outcome, origin="lint", rules={"triage-again": 9})["decision"] == "move"
    last = decision(check, "triage", outcome, origin="lint", rules={"triage-again": 10})
    assert (last["decision"], last["error"]) == ("stuck", "RetryLimitExceeded")


@pytest.mark.parametrize("key", ["repository-check", "agent-line"])
def test_lint_has_nothing_against_the_demo(key: str) -> None:
    assert [str(finding) for finding in lint_line(line(key)) if finding.severity != "info"] == []


def test_a_dropped_task_is_cancelled(check: ParsedLine) -> None:
    made = decision(check, "triage", {"result": "success", "output": {"triage": "drop"}})
    assert (made["decision"], made["end"], made["kind"]) == ("finish", "dropped", "cancelled")


def test_nothing_is_merged_without_a_person(check: ParsedLine) -> None:
    outcome = findings(1)
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


def test_a_branch_that_adds_nothing_is_checked_only(check: ParsedLine) -> None:
    made = decision(check, "deliver", {"result": "failure", "failure_type": "nothing_done"})
    assert (made["end"], made["kind"]) == ("checked-only", "completed")


def test_one_person_can_try_it(check: ParsedLine) -> None:
    for each in (check, line("agent-line")):
        approval = each.gate("human-review").approval
        assert approval.requester_may
        assert approval.producer_may
        assert each.gate("human-review").notify == ()


def test_an_agent_that_is_not_set_up_blocks_the_agent_line() -> None:
    found = decision(
        line("agent-line"),
        "architecture",
        {"exit_code": 78, "verdict": "blocked", "blockers": [{"title": "x"}]},
    )
    assert (found["decision"], found["status"]) == ("wait", "blocked")


def test_the_ready_example_is_the_default_only_where_there_is_one() -> None:
    assert [each.default for each in line("repository-check").inputs] == ["/srv/it", "discount"]
    bare = read_line(native.loads(example.example_line_text("repository-check", "")))
    assert not any(each.has_default for each in bare.inputs)
    odd = read_line(native.loads(example.example_line_text("repository-check", '/srv/a "b": #c')))
    assert odd.inputs[0].default == '/srv/a "b": #c'


def test_home_says_how_much_ruff_finds_in_the_example(tmp_path: Path) -> None:
    for name, text in lint_example.FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--no-cache",
        "--exit-zero",
        "--output-format=json",
        ".",
    ]
    found = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)
    files = {each["filename"] for each in found}
    assert (len(found), len(files)) == (lint_example.FINDINGS, lint_example.IN_FILES)
