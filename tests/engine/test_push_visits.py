"""A push to the branch of a task that is held (law §15)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.models import Repository, Task, VisitCommit
from tests.factories import World, station

pytestmark = pytest.mark.django_db
PUSH = engine.ObservedPush("3" * 40, "somebody", (), 1)


LEAD = {"trigger": "on_failure", "role": "Lead", "sla": "4h"}


def built(world: World, outcome: dict[str, Any] | None = None, **more: Any) -> Task:
    """It has built something on a branch, and stands where that led."""
    Repository.objects.create(
        project=world.project, name="app", address="/no/such/folder", connected_at=timezone.now()
    )
    build = station(
        "build",
        {"id": "on", "when": {"result": "success"}, "to": "ship"},
        kind="manual",
        requires=["metadata:ticket"],
    )
    version = world.line(stations=[build, "ship"], workspace={"git": {"repository": "app"}}, **more)
    task = world.start(version)
    job = world.started(task, "build")
    VisitCommit.objects.create(
        job=job, task=task, repository_name="app", branch="b", base_branch="main",
        base="0" * 40, head="1" * 40, tree="2" * 40, created_at=timezone.now(),
    )  # fmt: skip
    world.report(task, outcome)
    return task


def test_it_is_a_visit_where_something_is_missing(world: World) -> None:
    task = built(world)
    assert (world.status(task), world.token(task).wait["missing"]) == ("held", ["metadata:ticket"])
    assert engine.record_push_visit_and_return_result(task.pk, PUSH) == "taken"
    assert (world.at(task), world.job(task).visit) == (["build"], 2)


def test_it_is_none_where_work_is_held(world: World) -> None:
    task = built(world)
    token = world.token(task)
    engine.supply_metadata_and_decide_again(
        token.pk, user=world.operator, token_version=token.version, values={"ticket": "T-1"}
    )
    token = world.token(task, "ship")
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    assert engine.record_push_visit_and_return_result(task.pk, PUSH) == "held"
    assert world.token(task).version == token.version + 1


def test_it_is_none_where_an_escalation_holds_the_task(world: World) -> None:
    task = built(
        world, {"result": "failure"}, preset="aeef", policy={"no_rules": "advance"}, escalations=[LEAD]
    )
    assert "escalation" in world.token(task).wait
    assert engine.record_push_visit_and_return_result(task.pk, PUSH) == "held"
