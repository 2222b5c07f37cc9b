"""Scenarios as data: what is read, what is refused, and with which place."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.formats import scenarios as texts
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import DocumentError
from pipelines.routing.simulate.scenario import MAX_SCENARIOS, read_scenario, read_scenarios

WHOLE: dict[str, Any] = {
    "key": "whole",
    "name": "All that can be said",
    "inputs": {"goal": "x"},
    "task": {"title": "T"},
    "steps": [
        {
            "outcome": {"result": "success", "output": {"n": 1}},
            "answers": [{"agentic": {"question": "?"}, "answer": "yes"}],
        },
        {
            "at": "b",
            "gates": {"review": "approve", "other": {"decision": "reject", "reason": "no", "route": "fail"}},
        },
        {"answers": [{"hook": {"argv": ["x"]}, "answer": "block", "text": "why"}]},
        {"answer": "Use the other one."},
        {"retry": True},
    ],
    "expect": {"path": ["a", "b"], "rules": ["r1"], "end": "completed", "status": "completed"},
}

FAULTS: list[tuple[Any, str]] = [
    ([], ""),
    ({"steps": []}, "key"),
    ({"key": "Not a key"}, "key"),
    ({"key": "a", "step": []}, "step"),
    ({"key": "a", "steps": {}}, "steps"),
    ({"key": "a", "steps": [{}]}, "steps[0]"),
    ({"key": "a", "steps": [{"outcome": {"result": "success"}, "gates": {"g": "approve"}}]}, "steps[0]"),
    ({"key": "a", "steps": [{"answers": [], "retry": True}]}, "steps[0]"),
    ({"key": "a", "steps": [{"outcom": {}}]}, "steps[0].outcom"),
    ({"key": "a", "steps": [{"outcome": {}}]}, "steps[0].outcome"),
    ({"key": "a", "steps": [{"outcome": {"result": "won"}}]}, "steps[0].outcome.result"),
    ({"key": "a", "steps": [{"gates": {"g": "maybe"}}]}, "steps[0].gates.g.decision"),
    ({"key": "a", "steps": [{"gates": {"g": {"reason": "x"}}}]}, "steps[0].gates.g"),
    ({"key": "a", "steps": [{"gates": {"g": {"decison": "reject"}}}]}, "steps[0].gates.g.decison"),
    ({"key": "a", "steps": [{"gates": {}}]}, "steps[0].gates"),
    ({"key": "a", "steps": [{"answers": [{"answer": "yes"}]}]}, "steps[0].answers[0]"),
    ({"key": "a", "steps": [{"answers": []}]}, "steps[0].answers"),
    ({"key": "a", "steps": [{"answer": " "}]}, "steps[0].answer"),
    ({"key": "a", "steps": [{"retry": False}]}, "steps[0].retry"),
    ({"key": "a", "steps": [{"at": 1, "retry": True}]}, "steps[0].at"),
    ({"key": "a", "expect": {"paths": []}}, "expect.paths"),
    ({"key": "a", "expect": {"path": [1]}}, "expect.path[0]"),
    ({"key": "a", "expect": {"status": "done"}}, "expect.status"),
    ({"key": "a", "name": "n" * 201}, "name"),
    ({"key": "a", "task": {"title": "\0"}}, "task.title"),
]


def test_a_scenario_reads_back_as_it_was_written() -> None:
    scenario = read_scenario(WHOLE)
    assert scenario.to_dict() == WHOLE
    assert read_scenario(scenario.to_dict()) == scenario


@pytest.mark.parametrize(("data", "path"), FAULTS, ids=lambda each: str(each)[:60])
def test_a_fault_is_refused_with_its_place(data: Any, path: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_scenario(data)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"key": "a", "steps": [{"answers": {}}]}, "steps[0].answers: "),
        ({"key": "a", "steps": [{"answer": " "}]}, "steps[0].answer: is blank"),
        ({"key": "a", "steps": [{"answers": []}]}, "steps[0].answers: is empty"),
        ({"key": "a", "steps": [{"gates": {}}]}, "steps[0].gates: is empty"),
        ({"key": "a", "steps": [{"retry": False}]}, "steps[0].retry: has to be true"),
        ({"key": "a", "name": "n" * 201}, "name: is longer than 200 characters"),
        ({"steps": []}, "key: is missing"),
        ([], "has to be an object"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(data: Any, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_scenario(data)
    assert str(caught.value).startswith(message)


def test_what_is_no_list_of_scenarios_is_refused() -> None:
    with pytest.raises(Malformed, match="has to be a list of scenarios"):
        read_scenarios({})
    with pytest.raises(Malformed, match="has more than"):
        read_scenarios([{"key": f"k{n}"} for n in range(MAX_SCENARIOS + 1)])


def test_a_key_that_stands_twice_is_refused() -> None:
    with pytest.raises(Malformed) as caught:
        read_scenarios([{"key": "a"}, {"key": "b"}, {"key": "a"}])
    assert caught.value.path == "[2].key"


def test_scenarios_live_in_a_file_and_read_back() -> None:
    scenarios = read_scenarios([WHOLE, {"key": "on", "name": "12:30", "steps": [{"retry": True}]}])
    assert texts.loads(texts.dumps(scenarios)) == scenarios


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("key: a", (1, 1, "")),
        ("- key: a\n- key: b\n  stps: []", (3, 9, "[1].stps")),
        ("- {key: a, key: b}", (1, 12, "")),
        ("[", (1, 2, "")),
    ],
)
def test_a_fault_in_a_file_has_line_and_column(text: str, where: tuple[int, int, str]) -> None:
    with pytest.raises(DocumentError) as caught:
        texts.loads(text)
    problem = caught.value.problems[0]
    assert (problem.line, problem.path) == (where[0], where[2])
