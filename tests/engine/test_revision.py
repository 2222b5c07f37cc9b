"""Every decision is kept with the revision of the law that it was made under; those of before keep their invariants."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection

from pipelines.engine import invariants
from pipelines.models import Decision, Task
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import Stuck
from pipelines.routing.document.line import REVISION
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def looped(line: Any, situation: Any, **more: Any) -> Any:
    """As revision 1 read it: a rework at a gate that the failure rule carries, too, ends in a loop."""
    if any(word.decision == "rework" for word in situation.facts.gates.values()):
        return Stuck("ForcedRouteLoop", "A second forced route was demanded.", "fix")
    return decide(line, situation, **more)


def reworked(world: World) -> Task:
    failed = {"id": "fix", "when": {"result": "failure"}, "to": "fix", "gates": ["g"]}
    version = world.line(
        stations=[station("build", failed, {"id": "on", "to": "completed", "gates": ["g"]}), "fix"],
        gates=[{"key": "g", "name": "G", "mode": "manual", "offers": ["approve", "rework"]}],
    )
    task = world.start(version)
    world.report(task)
    with patch("pipelines.engine.core.decision_context.decide", looped):
        world.vote(task, "rework", reason="Not yet.")
    assert world.status(task) == "stuck"
    return task


def decided_before() -> None:
    """What is recorded was decided before decisions had a revision: that made them ones of revision 1."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE pipelines_decision DISABLE TRIGGER USER")
        cursor.execute("UPDATE pipelines_decision SET revision = 1")
        cursor.execute("ALTER TABLE pipelines_decision ENABLE TRIGGER USER")


def test_decisions_of_before_are_of_revision_1_and_keep_their_invariants(world: World) -> None:
    task = reworked(world)
    assert {each.revision for each in Decision.objects.all()} == {REVISION} == {3}
    assert {violation.invariant for violation in invariants.find_violations()} == {"I9", "I19"}

    decided_before()

    assert {each.revision for each in Decision.objects.all()} == {1}
    assert invariants.find_violations() == []
    world_goes_on(world, task)


def world_goes_on(world: World, task: Task) -> None:
    """What is decided from now on is of the current revision, beside what was before."""
    other = world.start(task.pinned)
    world.report(other)
    assert {each.revision for each in other.decisions.all()} == {REVISION}
    assert invariants.find_violations() == []


@pytest.mark.broken
def test_the_api_says_under_which_revision_a_decision_was_made(world: World, client: Any) -> None:
    task = reworked(world)
    _token, secret = world.token_of(world.reviewer)
    project = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}"
    where = f"{project}/stages/{task.line.key}/tasks/{task.name}/decisions"
    answer = client.get(where, headers={"Authorization": f"Bearer {secret}"})
    assert {each["revision"] for each in answer.json()} == {REVISION}
