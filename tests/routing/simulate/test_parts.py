"""What is tried at a station and at its gates, and how a walk and a report are told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.simulate.candidates import Candidate, Candidates, to_storable_json
from pipelines.routing.simulate.expectations import ExpectationFailure
from pipelines.routing.simulate.report import run_and_report_scenarios
from pipelines.routing.simulate.run import expectation_of_same_walk, run_scenario_until_refused
from pipelines.routing.simulate.scenario import Expectation, ScenarioScript, read_scenario
from pipelines.routing.simulate.state import SimulatedPosition, SimulatedTask, start_task
from tests.routing.support import ruled


def tried(*rules: dict[str, Any], **more: Any) -> list[Candidate]:
    of = ruled(*rules, **more)
    return list(Candidates(of, LintSubject(of)).candidates_at(SimulatedPosition("a")))


def outcomes(*rules: dict[str, Any], **more: Any) -> list[tuple[str | None, Any]]:
    return [(each.rule, each.step.to_dict()["outcome"]) for each in tried(*rules, **more)]


def test_each_rule_is_tried_with_what_it_takes_then_what_none_takes() -> None:
    success, failure = {"when": {"result": "success"}}, {"when": {"result": "failure"}}
    assert outcomes(failure, success) == [
        ("r1", {"result": "failure"}),
        ("r2", {"result": "success"}),
        (None, {"result": "cancelled"}),
        (None, {"result": "blocked"}),
    ]


def test_a_station_without_rules_is_tried_with_success_first() -> None:
    of = ruled({})
    found = list(Candidates(of, LintSubject(of)).candidates_at(SimulatedPosition("b")))
    assert found[0].step.to_dict()["outcome"] == {"result": "success"}
    assert found[0].rule is None


@pytest.mark.parametrize("status", ["held", "stuck", "completed", "blocked"])
def test_nothing_is_tried_where_nothing_new_can_come(status: str) -> None:
    of = ruled({})
    assert list(Candidates(of, LintSubject(of)).candidates_at(SimulatedPosition("a", status=status))) == []


def test_an_evaluation_is_tried_with_each_of_its_words() -> None:
    of = ruled({})
    asked = {"agentic": {"question": "Good?"}}
    position = SimulatedPosition("a", status="blocked", wait={"evaluation": asked})
    found = [each.step.answers for each in Candidates(of, LintSubject(of)).candidates_at(position)]
    assert found == [({**asked, "answer": "yes"},), ({**asked, "answer": "no"},)]


@pytest.mark.parametrize(
    ("field", "operator", "value", "said"),
    [
        ("exit_code", "equals", 3, {"exit_code": 3}),
        ("exit_code", "less_than", 3, {"exit_code": 2}),
        ("exit_code", "greater_than", 3, {"exit_code": 4}),
        ("exit_code", "not_equals", 3, {"exit_code": 4}),
        ("eval", "not_equals", "bad", {"eval": "not bad"}),
        ("eval", "in", ["x", "y"], {"eval": "x"}),
        ("output.k", "equals", "v", {"output": {"k": "v"}}),
        ("output.k", "exists", None, {"output": {"k": True}}),
        ("usage.cost", "less_than", 5, {"usage": {"cost": 4}}),
        ("input.k", "equals", 1, {}),
    ],
)
def test_what_the_checks_of_a_gate_want_is_tried_too(
    field: str, operator: str, value: Any, said: Any
) -> None:
    check = {"field": field, "operator": operator, "value": value}
    gates = [{"key": "g", "mode": "auto", "checks": {"all": [check]}}]
    found = outcomes({"when": {"result": "success"}, "gates": ["g"]}, gates=gates, inputs=[{"key": "k"}])
    assert ("r1", {"result": "success", **said}) in found
    assert found[0] == ("r1", {"result": "success"})


def test_what_the_outcome_says_already_stays() -> None:
    check = {"field": "output.k", "operator": "equals", "value": 1}
    gates = [{"key": "g", "mode": "auto", "checks": {"all": [check]}}]
    rule = {"when": {"output": {"path": "k", "op": "equals", "value": 7}}, "gates": ["g"]}
    assert [said for name, said in outcomes(rule, gates=gates) if name] == [
        {"result": "success", "output": {"k": 7}}
    ]


def test_numbers_that_no_store_holds_are_made_plain() -> None:
    given = {"a": [Decimal("2.0"), Decimal("0.5"), 3], "b": {"c": Decimal("1e3")}, "d": "x"}
    made = to_storable_json(given)
    assert made == {"a": [2, 0.5, 3], "b": {"c": 1000}, "d": "x"}
    assert [type(each) for each in made["a"]] == [int, float, int]
    assert type(to_storable_json(Decimal("1e299"))) is int
    assert type(to_storable_json(Decimal("1e300"))) is float


def test_a_position_tells_what_is_said_of_it_and_nothing_empty() -> None:
    assert SimulatedPosition("a").to_dict() == {"station": "a", "status": "queued"}
    position = SimulatedPosition(
        "a", "stuck", origin="b", feedback="f", wait={"w": 1}, error="E", end="failed"
    )
    assert position.to_dict() == {
        "station": "a",
        "status": "stuck",
        "end": "failed",
        "error": "E",
        "origin": "b",
        "feedback": "f",
        "wait": {"w": 1},
    }


def test_a_task_is_over_when_its_last_branch_is_and_ends_as_the_worst() -> None:
    done, failed = (
        SimulatedPosition("b", "completed", end="completed"),
        SimulatedPosition("c", "failed", end="broken"),
    )
    going = SimulatedTask((done, SimulatedPosition("c")), {})
    assert (going.is_over, going.end, going.first_active_index) == (False, "", 1)
    ended = SimulatedTask((done, failed), {})
    assert (ended.is_over, ended.end) == (True, "broken")


def test_a_task_begins_at_the_start_with_its_inputs() -> None:
    of = ruled({}, start="b", inputs=[{"key": "k", "default": "usual"}, {"key": "m"}])
    walk = start_task(of, ScenarioScript("s", "s", inputs={"m": 1}, task={"title": "t"}))
    assert (walk.inputs, walk.task, walk.visits) == ({"k": "usual", "m": 1}, {"title": "t"}, {"b": 1})
    assert walk.positions == (SimulatedPosition("b"),)


def test_a_failure_is_one_line() -> None:
    assert (
        str(ExpectationFailure(2, "it went elsewhere", why="rules: r1 false"))
        == "step 2: it went elsewhere (rules: r1 false)"
    )
    assert str(ExpectationFailure(None, "it went elsewhere")) == "it went elsewhere"


def test_a_report_of_nothing_says_so() -> None:
    of = ruled({"when": {"result": "failure"}}, {})
    found = run_and_report_scenarios(of, [], "my line")
    assert found.to_text().splitlines() == [
        "0 of 0 scenarios passed.",
        "Rules taken: 0 of 2; never taken: r1, r2 (0.0%)",
        "Stations visited: 0 of 3; never visited: a, b, c",
        "Gates opened: 0 of 0",
        "Policy applied: never",
    ]
    assert not found.holds
    assert found.problems() == ["there are no scenarios"]
    few = "0.0% of the rules are taken, fewer than 0.5%"
    assert found.problems(min_coverage=0.5) == ["there are no scenarios", few]
    assert (found.line, run_and_report_scenarios(of, []).line) == ("my line", "line")


def test_a_result_says_what_became_of_the_scenario() -> None:
    of = ruled({"to": "completed"})
    scenario = read_scenario({"key": "s", "name": "All well", "steps": [{"outcome": {"result": "success"}}]})
    found = run_scenario_until_refused(of, scenario)
    said = found.to_dict(traces=False)
    assert said == {
        "key": "s",
        "name": "All well",
        "holds": True,
        "failures": [],
        "path": ["a"],
        "rules": ["r1"],
        "end": "completed",
        "status": "completed",
    }
    assert {**found.to_dict(), "steps": None} == {**said, "steps": None}
    assert len(found.to_dict()["steps"]) == len(found.steps) == 2
    assert expectation_of_same_walk(found) == Expectation(("a",), ("r1",), "completed", "completed")


def test_of_a_walk_that_is_not_over_no_end_is_expected() -> None:
    found = run_scenario_until_refused(ruled({}), ScenarioScript("s", "s"))
    assert expectation_of_same_walk(found) == Expectation(
        ("a",), (), None, found.walk.status if found.walk else ""
    )


def test_a_scenario_that_cannot_begin_has_no_walk() -> None:
    found = run_scenario_until_refused(ruled({}), ScenarioScript("s", "s", inputs={"nobody": 1}))
    assert (found.walk, found.steps, found.holds) == (None, (), False)
    assert (found.to_dict()["end"], found.to_dict()["status"]) == ("", "")
    assert found.failures[0].step is None and "nobody" in found.failures[0].message
