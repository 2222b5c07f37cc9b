"""Typed fields of a gate: filled in at approval, variables of the task (law §6)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.errors import Invalid
from pipelines.models import Event, LineVersion, Task, Vote
from tests.factories import World, station

pytestmark = pytest.mark.django_db

FIELDS = [
    {"key": "checked", "type": "yes_no", "label": "Rollback plan read", "required": True},
    {"key": "ring", "type": "choice", "choices": ["canary", "all"], "required": True},
    {"key": "percent", "type": "number", "minimum": 1, "maximum": 100, "default": 10},
    {"key": "note", "type": "text"},
]
FILLED = {"checked": True, "ring": "canary"}


def line(world: World, **gate: Any) -> LineVersion:
    behind = {"id": "go", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}
    ship = station("ship", kind="command", work={"argv": ["deploy", "{{variables.ring}}"]})
    return world.line(
        stations=[station("build", behind), ship], gates=[{"key": "review", "fields": FIELDS, **gate}]
    )


def waiting(world: World, **gate: Any) -> Task:
    task = world.start(line(world, **gate))
    world.report(task)
    return task


def test_what_is_filled_in_becomes_variables_of_the_task(world: World) -> None:
    task = waiting(world)
    world.vote(task, fields=FILLED)
    task.refresh_from_db()
    assert task.variables == {"checked": True, "ring": "canary", "percent": 10}
    assert Vote.objects.get(visit__task=task).fields == task.variables
    decided = Event.objects.get(task=task, kind="gate.decided")
    assert decided.data["variables"] == task.variables
    assert world.at(task) == ["ship"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "fields.checked"),
        ({**FILLED, "checked": False}, "fields.checked"),
        ({**FILLED, "ring": "everywhere"}, "fields.ring"),
        ({**FILLED, "percent": 101}, "fields.percent"),
        ({**FILLED, "percent": "10"}, "fields.percent"),
        ({**FILLED, "note": 3}, "fields.note"),
        ({**FILLED, "other": 1}, "fields.other"),
        ({**FILLED, "note": "a\x00b"}, "fields.note"),
    ],
)
def test_what_does_not_fit_a_field_is_refused_with_its_place(
    world: World, given: dict[str, Any], path: str
) -> None:
    task = waiting(world)
    with pytest.raises(Invalid) as refused:
        world.vote(task, fields=given)
    assert path in [problem.path for problem in refused.value.problems]
    assert not Vote.objects.filter(visit__task=task).exists()


def test_a_word_that_is_no_approval_fills_in_nothing(world: World) -> None:
    task = waiting(world)
    world.vote(task, "send_back", reason="Again", fields={})
    task.refresh_from_db()
    assert (task.variables, world.at(task)) == ({}, ["build"])


def test_of_several_approvals_the_later_one_counts(world: World) -> None:
    task = waiting(world, approval={"who": [{"role": "reviewer", "count": 2}]})
    first, second = world.reviewers(2)
    world.vote(task, by=first, fields={**FILLED, "note": "first"})
    task.refresh_from_db()
    assert task.variables == {}
    world.vote(task, by=second, fields={**FILLED, "ring": "all"})
    task.refresh_from_db()
    assert task.variables == {"checked": True, "ring": "all", "percent": 10, "note": "first"}
