"""An administrator approves instead of the people whom a gate asks (law §6, Override)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import Event, GateVisit, Task
from tests.factories import World, make_member, station

pytestmark = pytest.mark.django_db

ASKS_TWO = {"approval": {"who": [{"role": "reviewer", "count": 2}]}}


def waiting(world: World, by: Any = None, **gate: Any) -> Task:
    behind = {"id": "go", "to": "ship", "gates": ["review"]}
    version = world.line(
        stations=[station("build", behind), station("ship", kind="manual")],
        gates=[{"key": "review", **ASKS_TWO, **gate}],
    )
    task = world.start(version, by=by)
    world.report(task, {"result": "success"})
    return task


def override(world: World, task: Task, visit: GateVisit | None = None, **more: Any) -> engine.VoteResult:
    visit = visit or world.visit(task)
    said = {"comment": "Nobody else is here", "confirm": task.name, "user": world.admin}
    shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    return engine.override_gate_as_administrator(visit.pk, **{**said, **shown, **more})


def test_it_approves_at_once_and_says_so_ever_after(world: World) -> None:
    task = waiting(world)
    visit = world.visit(task)
    assert override(world, task).state == "decided"
    assert world.at(task) == ["ship"]
    visit.refresh_from_db()
    assert (visit.word, visit.overridden, visit.decided_by) == ("approve", True, world.admin)
    assert str(visit.word_display) == "Approved by override"
    event = Event.objects.get(task=task, kind="gate.overridden")
    assert (event.data["reason"], event.data["entitled_as"]["roles"]) == ("Nobody else is here", ["admin"])
    assert Event.objects.get(task=task, kind="gate.decided").data["overridden"] is True


@pytest.mark.parametrize(
    ("said", "path"),
    [({"comment": " "}, "comment"), ({"confirm": "yes"}, "confirm"), ({"confirm": ""}, "confirm")],
)
def test_it_needs_a_comment_and_the_number_of_the_task(world: World, said: dict[str, str], path: str) -> None:
    task = waiting(world)
    with pytest.raises(Invalid) as refused:
        override(world, task, **said)
    assert refused.value.problems[0].path == path
    assert world.status(task) == "awaiting_review"


def test_only_an_administrator_who_is_not_barred_overrides(world: World) -> None:
    task = waiting(world)
    for user, error in ((world.reviewer, Forbidden), (world.designer, Forbidden), (world.stranger, NotFound)):
        with pytest.raises(error):
            override(world, task, user=user)
    own = waiting(world, by=world.admin)
    with pytest.raises(Forbidden, match="requested this task"):
        override(world, own)
    override(world, own, user=make_member(world.project, "admin"))


def test_a_late_or_outdated_override_is_refused(world: World) -> None:
    task = waiting(world)
    visit = world.visit(task)
    with pytest.raises(Conflict):
        override(world, task, evidence_digest="0" * 64)
    world.vote(task, "reject", reason="No")
    with pytest.raises(Conflict, match="said"):
        override(world, task, visit)


def test_it_fills_in_the_fields_of_the_gate(world: World) -> None:
    task = waiting(world, fields=[{"key": "ring", "type": "text", "required": True}])
    with pytest.raises(Invalid):
        override(world, task)
    override(world, task, fields={"ring": "canary"})
    task.refresh_from_db()
    assert task.variables == {"ring": "canary"}
