"""Law §8a: the variables that a rule composes from the output, and how they merge with those that exist."""

from __future__ import annotations

from typing import Any

import pytest

from tests.routing.support import OK, decided, goes, ruled, traced

# compose

OUTPUT = {"user": {"id": 7}, "items": [{"n": 1}, {"n": 2}], "none": None}


COMPOSED = [
    ({"path": "$.user.id"}, 7),
    ({"path": "user.id"}, 7),
    ({"path": "$.items[*].n"}, [1, 2]),
    ({"path": "$.items[:1].n"}, 1),
    ({"path": "none"}, None),
    ({"path": "$"}, OUTPUT),
]


@pytest.mark.parametrize(("entry", "value"), COMPOSED)
def test_compose_stores_one_node_as_its_value_and_several_as_a_list(
    entry: dict[str, Any], value: Any
) -> None:
    of = ruled({"compose": [{"var": "v", **entry}]})
    assert decided(of, {**OK, "output": OUTPUT}, variables={"old": 1})["variables"] == {"v": value}


COMPOSE_FAILS = [
    {**OK, "output": {}},
    {**OK, "output": "text"},
    OK,
    {**OK, "output_error": True},
]


@pytest.mark.parametrize("outcome", COMPOSE_FAILS)
def test_where_compose_finds_nothing_the_rule_fails(outcome: dict[str, Any]) -> None:
    of = ruled({"compose": [{"var": "v", "path": "k"}]}, {"to": "c"})
    assert goes(of, outcome) == "finish failed by policy with compose_failed r1"


def test_in_scope_merged_compose_reads_the_context_overlaid_by_the_output() -> None:
    of = ruled({"compose": [{"var": "v", "path": "k"}]}, policy={"condition_scope": "merged"})
    assert decided(of, OK, context={"k": 1})["variables"] == {"v": 1}
    assert decided(of, {**OK, "output": {"k": 2}}, context={"k": 1})["variables"] == {"v": 2}


@pytest.mark.parametrize("scope", ["current", "merged"])
@pytest.mark.parametrize("entry", [{"var": "v", "path": "k"}, {"var": "v", "strategy": "override"}])
def test_output_that_is_not_json_gives_compose_nothing(scope: str, entry: dict[str, Any]) -> None:
    of = ruled({"compose": [entry]}, policy={"condition_scope": scope, "on_failure": "stuck"})
    assert goes(of, {**OK, "output_error": True}, context={"k": 1}) == "stuck compose_failed r1"


AFTER_COMPOSE = [
    ("halt", "finish failed by policy with compose_failed r1"),
    ("stuck", "stuck compose_failed r1"),
    ("escalate", "escalate compose_failed r1"),
    ("station:c", "move c by policy r1"),
    ("fallback", "move c by fallback r0"),
]


@pytest.mark.parametrize(("knob", "expected"), AFTER_COMPOSE)
def test_compose_failed_does_as_on_failure_says(knob: str, expected: str) -> None:
    rules = [
        {"id": "r0", "when": {"result": "blocked"}, "to": "c"},
        {"id": "r1", "compose": [{"var": "v", "path": "k"}]},
    ]
    assert goes(ruled(*rules, policy={"on_failure": knob}), OK) == expected


def test_a_compose_that_fails_again_on_the_fallback_is_a_second_forced_route() -> None:
    of = ruled({"compose": [{"var": "v", "path": "k"}]}, policy={"on_failure": "fallback"})
    assert goes(of, OK) == "stuck ForcedRouteLoop r1"


def test_compose_comes_before_the_origin_the_circle_and_the_budgets() -> None:
    entry = {"compose": [{"var": "v", "path": "k"}], "max_retries": 0, "allow_revisit": False}
    assert goes(ruled({"to": "a", **entry}), OK) == "finish failed by policy with compose_failed r1"
    assert goes(ruled({"to": "@origin", **entry}), OK) == "finish failed by policy with compose_failed r1"


def strategy(name: str, existing: Any, output: Any, path: str | None = None) -> Any:
    entry = {"var": "v", "strategy": name, **({"path": path} if path else {})}
    facts = {} if existing is None else {"variables": {"v": existing}}
    return decided(ruled({"compose": [entry]}), {**OK, "output": output}, **facts).get("variables")


HISTORY = {"messages": [{"role": "user", "content": "Hello"}], "model": "m"}


REPLY = {"messages": [{"role": "assistant", "content": "Hi"}], "model": "n"}


def test_strategies_merge_with_the_variable_that_exists() -> None:
    assert strategy("override", {"a": 1, "b": 1}, {"b": 2}) == {"v": {"a": 1, "b": 2}}
    assert strategy("override", {"a": 1}, "text") == {"v": {"a": 1}}
    assert strategy("override", 5, "text") == {"v": "text"}
    assert strategy("override", {"a": 1}, {"deep": {"a": 2}}, "deep") == {"v": {"a": 2}}
    assert strategy("merge_chat_histories", HISTORY, REPLY) == {
        "v": {"messages": [*HISTORY["messages"], *REPLY["messages"]]}
    }
    said = {"role": "assistant", "content": "Hi"}
    assert strategy("append_string_to_chat_history", HISTORY, "Hi") == {
        "v": {"messages": [*HISTORY["messages"], said], "model": "m"}
    }


@pytest.mark.parametrize(
    ("name", "existing", "output"),
    [
        ("override", None, {"a": 1}),
        ("merge_chat_histories", HISTORY, "text"),
        ("merge_chat_histories", "text", HISTORY),
        ("append_string_to_chat_history", HISTORY, REPLY),
        ("append_string_to_chat_history", 1, "b"),
    ],
)
def test_a_strategy_that_does_not_fit_fails_the_compose(name: str, existing: Any, output: Any) -> None:
    assert strategy(name, existing, output) is None


def test_a_later_entry_sees_the_variables_of_earlier_ones() -> None:
    entries = [{"var": "v", "path": "x"}, {"var": "v", "path": "y", "strategy": "override"}]
    outcome = {**OK, "output": {"x": {"a": 1}, "y": {"b": 2}}}
    assert decided(ruled({"compose": entries}), outcome)["variables"] == {"v": {"a": 1, "b": 2}}


CHAT = {"messages": [{"role": "user", "content": "hi"}], "model": "m"}


MERGED = [
    ("override", {"a": 1}, {"a": 0, "b": 2}, {"a": 1, "b": 2}),
    ("override", 5, {"b": 2}, {"b": 2}),
    ("override", {"a": 1}, 5, {"a": 1}),
    ("override", 5, 7, 5),
    (
        "merge_chat_histories",
        {"messages": ["new"], "model": "m", "x": 1},
        CHAT,
        {"messages": [{"role": "user", "content": "hi"}, "new"], "model": "m", "x": 1},
    ),
    ("merge_chat_histories", {"messages": [], "model": "n"}, CHAT, {"messages": CHAT["messages"]}),
    ("merge_chat_histories", {"messages": []}, CHAT, {"messages": CHAT["messages"]}),
    ("merge_chat_histories", {"messages": [1]}, {"messages": [2]}, {"messages": [2, 1]}),
    (
        "append_string_to_chat_history",
        "bye",
        CHAT,
        {"messages": [*CHAT["messages"], {"role": "assistant", "content": "bye"}], "model": "m"},
    ),
    (
        "append_string_to_chat_history",
        CHAT,
        "bye",
        {"messages": [*CHAT["messages"], {"role": "assistant", "content": "bye"}], "model": "m"},
    ),
]


@pytest.mark.parametrize(("strategy", "found", "existing", "merged"), MERGED)
def test_compose_merges_with_what_is_there(strategy: str, found: Any, existing: Any, merged: Any) -> None:
    of = ruled({"compose": [{"var": "v", "path": "k", "strategy": strategy}]})
    answer = decided(of, {**OK, "output": {"k": found}}, variables={"v": existing})
    assert answer["variables"] == {"v": merged}


HISTORIES = "both have to be chat histories: objects with a list of messages"


TEXT_AND_HISTORY = "one has to be a text, the other a chat history: an object with a list of messages"


UNMERGED = [
    ("merge_chat_histories", {"messages": []}, "text", HISTORIES),
    ("merge_chat_histories", {"messages": "text"}, CHAT, HISTORIES),
    ("append_string_to_chat_history", "text", 5, TEXT_AND_HISTORY),
    ("append_string_to_chat_history", 5, CHAT, TEXT_AND_HISTORY),
    ("append_string_to_chat_history", "text", {"messages": {}}, TEXT_AND_HISTORY),
]


@pytest.mark.parametrize(("strategy", "found", "existing", "why"), UNMERGED)
def test_compose_fails_where_that_cannot_be_merged(
    strategy: str, found: Any, existing: Any, why: str
) -> None:
    of = ruled({"compose": [{"var": "v", "path": "k", "strategy": strategy}]})
    answer = traced(of, {**OK, "output": {"k": found}}, variables={"v": existing})
    assert answer["error"] == "compose_failed"
    assert f"compose: {why}" in [entry["why"] for entry in answer["trace"]]


def test_a_later_entry_of_compose_sees_what_an_earlier_one_stored() -> None:
    entries = [{"var": "v", "path": "a"}, {"var": "v", "path": "b", "strategy": "override"}]
    answer = decided(ruled({"compose": entries}), {**OK, "output": {"a": {"x": 1, "y": 1}, "b": {"y": 2}}})
    assert answer["variables"] == {"v": {"x": 1, "y": 2}}
