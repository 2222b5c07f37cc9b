"""Variables that rules store, from the output of a real process to the prompt of the next (law §8a)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.lines.publishing import PublishRefused
from pipelines.models import Task
from tests.factories import World
from tests.work.driving import Bench, command, done, drive, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]

USER = {"user": {"id": 42, "tags": ["a", "b"]}}


def says(output: Any) -> str:
    return f"print({json.dumps(output)!r})"


def reads(key: str, prompt: str, **more: Any) -> dict[str, Any]:
    """A station that writes its prompt into the log."""
    return command(key, "import sys; sys.stdout.write(sys.stdin.read())", work={"prompt": prompt}, **more)


def stores(*compose: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "stores", "when": {"result": "success"}, "to": "b", "compose": list(compose), **more}


def run(world: World, bench: Bench, *stations: Any, **more: Any) -> Task:
    task = world.start(world.line(stations=list(stations), **more))
    drive(bench, task)
    task.refresh_from_db()
    return task


def test_B13_what_a_path_finds_is_a_variable_of_the_next_prompt(world: World, bench: Bench) -> None:
    rule = stores({"var": "extracted_id", "path": "$.user.id"})
    task = run(world, bench, command("a", says(USER), rule), reads("b", "User {{.extracted_id}}."))
    assert task.variables == {"extracted_id": 42}
    assert text_of(done(task, "b")) == "User 42.\n"


def test_B13_only_the_rule_that_is_taken_stores(world: World, bench: Bench) -> None:
    other = {
        "id": "other",
        "when": {"result": "failure"},
        "to": "b",
        "compose": [{"var": "failed", "path": "$"}],
    }
    rule = stores({"var": "user", "path": "$.user"})
    task = run(world, bench, command("a", says(USER), other, rule), reads("b", "{{.user.id}}"))
    assert task.variables == {"user": USER["user"]}
    assert text_of(done(task, "b")) == "42\n"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.user.tags[*]", ["a", "b"]),
        ("$.user.tags[0]", "a"),
        ("$.user.tags[?@ != 'a']", "b"),
    ],
)
def test_B14_one_node_is_its_value_and_several_are_a_list(
    world: World, bench: Bench, path: str, value: Any
) -> None:
    rule = stores({"var": "v", "path": path})
    task = run(world, bench, command("a", says(USER), rule), "b")
    assert task.variables == {"v": value}


@pytest.mark.parametrize("program", [says(USER), "print('no JSON at all')"])
def test_B14_where_nothing_is_found_on_failure_decides_and_nothing_is_stored(
    world: World, bench: Bench, program: str
) -> None:
    rule = stores({"var": "first", "path": "$"}, {"var": "v", "path": "$.nothing"})
    task = run(world, bench, command("a", program, rule), "b")
    assert (task.status, task.error, task.variables) == ("failed", "compose_failed", {})
    task = run(world, bench, command("a", program, rule), "b", "c", policy={"on_failure": "station:c"})
    assert [job.station for job in task.jobs.order_by("pk")] == ["a", "c"]


HISTORY = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
ANSWER = {"model": "m", "messages": [{"role": "assistant", "content": "Hi"}]}


@pytest.mark.parametrize(
    ("strategy", "before", "now", "after"),
    [
        ("override", {"a": 1, "b": 1}, {"b": 2}, {"a": 1, "b": 2}),
        (
            "merge_chat_histories",
            HISTORY,
            ANSWER,
            {"model": "m", "messages": [*HISTORY["messages"], *ANSWER["messages"]]},
        ),
        (
            "append_string_to_chat_history",
            HISTORY,
            "Hi",
            {"model": "m", "messages": [*HISTORY["messages"], {"role": "assistant", "content": "Hi"}]},
        ),
    ],
)
def test_B15_a_strategy_merges_with_what_the_variable_held(
    world: World, bench: Bench, strategy: str, before: Any, now: Any, after: Any
) -> None:
    first = stores({"var": "v", "path": "$"})
    second = {**stores({"var": "v", "strategy": strategy}), "id": "merges", "to": "c"}
    task = run(world, bench, command("a", says(before), first), command("b", says(now), second), "c")
    assert task.variables == {"v": after}


def test_B15_what_cannot_be_merged_fails(world: World, bench: Bench) -> None:
    rule = stores({"var": "v", "path": "$", "strategy": "override"})
    task = run(world, bench, command("a", says(USER), rule), "b")
    assert (task.status, task.error) == ("failed", "compose_failed"), "the variable does not exist yet"


def test_B15_an_unknown_strategy_is_refused_when_it_is_published(world: World) -> None:
    rule = stores({"var": "v", "path": "$", "strategy": "shuffle"})
    with pytest.raises(PublishRefused, match="shuffle"):
        world.line(stations=[command("a", "pass", rule), "b"])
