"""contenox B13 to B15: what a branch that is taken composes. No database, but for what is used afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import ParsedLine, read_line
from tests.factories import World, station
from tests.routing.support import decided, document, goes, ruled

USER = {"user": {"id": 7, "name": "Ada"}, "tags": [{"n": 1}, {"n": 2}], "odd key": True, "none": None}


def composing(*entries: dict[str, Any], **more: Any) -> ParsedLine:
    rules = [
        {"when": {"eval": {"op": "equals", "value": "yes"}}, "to": "b", "compose": list(entries)},
        {"to": "c"},
    ]
    return ruled(*rules, preset="contenox", **more)


def stored(of: ParsedLine, output: Any, **facts: Any) -> dict[str, Any]:
    """The variables that are set."""
    found: dict[str, Any] = decided(of, {"eval": "yes", "output": output}, **facts)["variables"]
    return found


def test_B13_what_the_path_finds_is_stored_as_a_variable() -> None:
    assert stored(composing({"var": "extracted_id", "path": "$.user.id"}), USER) == {"extracted_id": 7}


def test_B13_only_if_the_branch_is_taken() -> None:
    of = composing({"var": "extracted_id", "path": "$.user.id"})
    answer = decided(of, {"eval": "no", "output": USER})
    assert (answer["to"], answer["variables"]) == (["c"], {})


@pytest.mark.django_db
def test_B13_later_stations_and_templates_read_it(world: World) -> None:
    rule = {"id": "on", "to": "use", "compose": [{"var": "extracted_id", "path": "$.user.id"}]}
    use = station("use", kind="manual", work={"instructions": "Look at {{.extracted_id}}."})
    task = world.start(world.line(stations=[station("ask", rule), use], preset="contenox"))
    world.report(task, {"result": "success", "output": USER})
    task.refresh_from_db()
    assert task.variables == {"extracted_id": 7}
    world.report(task)
    assert task.decisions.order_by("at")[1].situation["facts"]["variables"] == {"extracted_id": 7}


PATHS = [
    ("$", USER),
    ("$.user.name", "Ada"),
    ("$['odd key']", True),
    ("$.tags[0].n", 1),
    ("$.tags[*].n", [1, 2]),
    ("$..n", [1, 2]),
    ("$.tags[?@.n > 1]", {"n": 2}),
    ("$.none", None),
    ("user.name", "Ada"),
]


@pytest.mark.parametrize(("path", "value"), PATHS)
def test_B14_one_node_is_its_value_and_several_are_a_list(path: str, value: Any) -> None:
    assert stored(composing({"var": "x", "path": path}), USER) == {"x": value}


FAILED = "finish failed by policy with compose_failed r1"


@pytest.mark.parametrize(
    "outcome",
    [
        {"eval": "yes", "output": {"other": 1}},
        {"eval": "yes", "output": "text"},
        {"eval": "yes"},
        {"eval": "yes", "output_error": "not JSON"},
    ],
)
def test_B14_nothing_found_is_compose_failed_and_on_failure_decides(outcome: dict[str, Any]) -> None:
    entry = {"var": "x", "path": "$.user.id"}
    assert goes(composing(entry), outcome) == FAILED
    elsewhere = composing(entry, policy={"on_failure": "station:c"})
    assert goes(elsewhere, outcome) == "move c by policy r1"


HISTORY = {"messages": [{"role": "user", "content": "Hi"}], "model": "m"}
MORE = {"messages": [{"role": "assistant", "content": "Hello"}], "model": "m"}


def merged(strategy: str, output: Any, variable: Any) -> Any:
    return stored(composing({"var": "x", "strategy": strategy}), output, variables={"x": variable})["x"]


def test_B15_override_lets_the_keys_of_the_output_win() -> None:
    assert merged("override", {"a": 2, "c": 3}, {"a": 1, "b": 1}) == {"a": 2, "b": 1, "c": 3}


def test_B15_merge_chat_histories_puts_those_of_the_variable_first() -> None:
    both = merged("merge_chat_histories", MORE, HISTORY)
    assert [message["content"] for message in both["messages"]] == ["Hi", "Hello"]
    assert both["model"] == "m"
    assert "model" not in merged("merge_chat_histories", {**MORE, "model": "other"}, HISTORY)


def test_B15_append_string_to_chat_history_makes_the_text_the_last_message() -> None:
    found = merged("append_string_to_chat_history", "Hello", HISTORY)
    assert found["messages"][-1] == {"role": "assistant", "content": "Hello"}
    assert found["messages"][0] == HISTORY["messages"][0]


@pytest.mark.parametrize("strategy", ["override", "merge_chat_histories", "append_string_to_chat_history"])
def test_B15_without_the_variable_it_fails(strategy: str) -> None:
    of = composing({"var": "x", "strategy": strategy})
    assert goes(of, {"eval": "yes", "output": MORE}) == FAILED


def test_B15_an_unknown_strategy_is_refused() -> None:
    rule = {"id": "r", "to": "b", "compose": [{"var": "x", "strategy": "blend"}]}
    with pytest.raises(DocumentError) as error:
        read_line(document({"rules": [rule]}, {}))
    assert [problem.path for problem in error.value.problems] == ["stations[0].rules[0].compose[0].strategy"]


def test_B15_an_input_is_a_variable_and_a_text_the_history_of_one_message() -> None:
    of = composing({"var": "input", "strategy": "append_string_to_chat_history"})
    found = stored(of, "It was rejected.", inputs={"input": "Hi"})["input"]
    assert [(message["role"], message["content"]) for message in found["messages"]] == [
        ("user", "Hi"),
        ("assistant", "It was rejected."),
    ]
    again = stored(of, "Again.", inputs={"input": "Hi"}, variables={"input": found})["input"]
    assert len(again["messages"]) == 3, "a variable comes before the input of its name"
