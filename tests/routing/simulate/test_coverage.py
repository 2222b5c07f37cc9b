"""What scenarios have shown of a line, and what not."""

from __future__ import annotations

from pipelines.routing.simulate.coverage import Coverage, CoveredParts, covered_parts, parts_covered_by_all
from pipelines.routing.simulate.report import run_and_report_scenarios
from pipelines.routing.simulate.scenario import read_scenario
from tests.routing.simulate.support import FAILED, OK, said, walked
from tests.routing.support import line, ruled

LINE = ruled(
    {"when": {"result": "failure"}, "to": "c"},
    {"when": {"verdict": "pass"}, "gates": ["review"]},
    {"when": {"failure_type": "never"}},
    gates=[{"key": "review", "name": "Review"}],
)


def test_it_tells_tested_taken_and_never_taken_apart() -> None:
    coverage = Coverage.of(LINE, covered_parts(walked(LINE, FAILED))).to_dict()
    assert coverage["rules"] == {
        "all": 3,
        "tested": ["r1"],
        "taken": ["r1"],
        "never_taken": ["r2", "r3"],
    }
    assert coverage["percent"] == 33.3
    assert coverage["stations"]["never_visited"] == ["b"]


def test_a_gate_counts_as_opened_and_its_rule_as_taken_only_when_it_is_approved() -> None:
    waiting = Coverage.of(LINE, covered_parts(walked(LINE, OK))).to_dict()
    assert (waiting["gates"]["opened"], waiting["rules"]["taken"]) == (["review"], [])
    through = covered_parts(walked(LINE, OK, {"gates": {"review": "approve"}}))
    assert through.taken == {"r2"}


def test_the_policy_is_told_where_it_was_applied() -> None:
    shown = parts_covered_by_all([walked(line({}, {}), OK), walked(line({}, {}), FAILED)])
    assert shown.policy == {"a: no_rules: advance", "a: on_failure: halt"}


def test_several_scenarios_add_up_and_read_back() -> None:
    shown = covered_parts(walked(LINE, FAILED)) | covered_parts(walked(LINE, OK))
    assert shown.tested == {"r1", "r2"}
    assert CoveredParts.from_dict(shown.to_dict()) == shown


def test_a_line_without_rules_is_covered() -> None:
    assert Coverage.of(line({}), CoveredParts()).percent == 100


def test_the_report_says_what_failed_and_what_was_never_taken() -> None:
    scenarios = [
        read_scenario({**said(FAILED, expect={"path": ["a", "b"]}), "key": "off", "name": "Off the way"}),
        read_scenario(said(OK)),
    ]
    told = run_and_report_scenarios(LINE, scenarios)
    assert told.failed_count == 1
    assert told.problems(50) == [
        "1 of 2 scenarios failed",
        "33.3% of the rules are taken, fewer than 50%",
    ]
    text = told.to_text()
    assert "FAIL  off: Off the way\n      step 1: station 2: expected b, got c" in text
    assert "Rules taken: 1 of 3; never taken: r2, r3 (33.3%)" in text
    assert "Policy applied: never" in text
