"""Starting a task: its number, its inputs, its version."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import InputError
from tests.factories import World

pytestmark = pytest.mark.django_db

FIELDS = [
    {"key": "name", "type": "text", "required": True},
    {"key": "count", "type": "number", "default": 3},
    {"key": "size", "type": "choice", "choices": ["s", "m"]},
    {"key": "day", "type": "date"},
    {"key": "repository", "type": "repository"},
    {"key": "patch", "type": "file"},
    {"key": "key", "type": "secret"},
]


def test_it_fills_defaults_and_keeps_what_was_given(world: World) -> None:
    task = world.start(world.line(inputs=FIELDS), inputs={"name": "x", "day": "2026-02-28", "size": ""})
    assert task.inputs == {"name": "x", "count": 3, "day": "2026-02-28"}
    assert (task.requester, task.requested_by) == (world.operator, str(world.operator))


@pytest.mark.parametrize(
    ("inputs", "path"),
    [
        ({}, "inputs.name"),
        ({"name": " \0"}, "inputs.name"),
        ({"name": 1}, "inputs.name"),
        ({"name": "x", "count": "3"}, "inputs.count"),
        ({"name": "x", "count": True}, "inputs.count"),
        ({"name": "x", "size": "xl"}, "inputs.size"),
        ({"name": "x", "day": "2026-02-30"}, "inputs.day"),
        ({"name": "x", "day": "20260228"}, "inputs.day"),
        ({"name": "x", "repository": "--upload-pack=x"}, "inputs.repository"),
        ({"name": "x", "patch": "a.txt"}, "inputs.patch"),
        ({"name": "x", "key": "with space"}, "inputs.key"),
        ({"name": "x", "more": 1}, "inputs.more"),
    ],
    ids=str,
)
def test_it_names_the_input_that_does_not_fit(world: World, inputs: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as refused:
        world.start(world.line(inputs=FIELDS), inputs=inputs)
    assert [problem.path for problem in refused.value.problems] == [path]


@pytest.mark.parametrize("due", ["9999-12-31T23:59:59-10:00", "0001-01-01T00:00:00+14:00"])
def test_it_takes_no_due_date_that_could_not_be_read_again(world: World, due: str) -> None:
    with pytest.raises(InputError) as refused:
        world.start(world.line(stations=["build"]), due_at=datetime.fromisoformat(due))
    assert [problem.path for problem in refused.value.problems] == ["due_at"]


def test_it_says_everything_that_is_wrong_at_once(world: World) -> None:
    with pytest.raises(InputError) as refused:
        world.start(world.line(inputs=FIELDS), title="  ", priority="urgent", inputs={"count": "x"})
    assert {problem.path for problem in refused.value.problems} == {
        "title",
        "priority",
        "inputs.name",
        "inputs.count",
    }


def test_a_machine_requests_under_its_own_name(world: World) -> None:
    actor = engine.Actor("machine", "7", "nightly")
    task = engine.submit(world.line(), actor=actor, title="A task")
    assert (task.requester, task.requested_by) == (None, "nightly")
    assert task.events.get().actor == "machine:7"


def test_a_refused_start_uses_no_number(world: World) -> None:
    version = world.line(inputs=FIELDS)
    with pytest.raises(InputError):
        world.start(version)
    assert world.start(version, inputs={"name": "x"}).number == 1
