"""A token that is held for what is missing is decided again when facts change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.core import decision_context
from pipelines.models import Task
from tests.factories import World

pytestmark = pytest.mark.django_db

Facts = Callable[..., None]


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Facts:
    """Further facts of the moment, as the engine reads them."""
    counts = decision_context.counts_and_open_escalations_facts

    def given(**more: Any) -> None:
        monkeypatch.setattr(
            decision_context, "counts_and_open_escalations_facts", lambda task: {**counts(task), **more}
        )

    return given


def held(world: World, facts: Facts) -> Task:
    facts(open_escalations=1)
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, {"result": "success", "output": {"n": 1}})
    assert (world.status(task), world.token(task).wait["missing"]) == ("held", ["no_open_escalation"])
    return task


def test_it_goes_on_when_nothing_is_missing_any_more(world: World, facts: Facts) -> None:
    task = held(world, facts)
    facts(open_escalations=0)
    assert engine.decide_held_tokens_again(task.pk) == [world.token(task).pk]
    assert (world.at(task), world.status(task)) == (["ship"], "queued")
    first, second = task.decisions.order_by("at")
    assert second.situation["outcome"] == first.situation["outcome"]
    assert (second.cause, second.job_id) == (f"facts:{world.token(task).pk}.3", first.job_id)


def test_where_the_same_is_missing_nothing_is_written(world: World, facts: Facts) -> None:
    task = held(world, facts)
    facts(open_escalations=0, preconditions={"quota": False})
    engine.decide_held_tokens_again(task.pk)
    events = world.kinds(task)
    assert engine.decide_held_tokens_again(task.pk) == []
    assert (world.kinds(task), task.decisions.count()) == (events, 2)


def test_what_is_missing_then_is_named_anew(world: World, facts: Facts) -> None:
    task = held(world, facts)
    facts(open_escalations=0, preconditions={"quota": False})
    assert engine.decide_held_tokens_again(task.pk) == [world.token(task).pk]
    assert (world.status(task), world.token(task).wait["missing"]) == ("held", ["quota"])


def test_it_is_done_once(world: World, facts: Facts) -> None:
    task = held(world, facts)
    facts(open_escalations=0)
    engine.decide_held_tokens_again(task.pk)
    seen = world.kinds(task)
    assert engine.decide_held_tokens_again(task.pk) == []
    assert world.kinds(task) == seen


def test_what_is_held_by_a_person_or_not_at_all_is_left_alone(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    assert engine.decide_held_tokens_again(task.pk) == []
    engine.hold(world.token(task).pk, user=world.operator, token_version=world.token(task).version)
    assert engine.decide_held_tokens_again(task.pk) == []
    assert (world.status(task), engine.decide_held_tokens_again(0)) == ("held", [])
