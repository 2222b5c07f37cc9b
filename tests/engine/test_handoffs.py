"""Handoff documents: valid ones go along with a move under their name; a missing one can be given by a person."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.engine.commands.event_export import export_task
from pipelines.errors import Conflict, Invalid
from pipelines.models import Handoff, Job, Task
from pipelines.work.transport.local.orders import job_orders
from tests.factories import World, station
from tests.routing.test_preconditions import HANDOFF

pytestmark = pytest.mark.django_db


def started(world: World, **more: Any) -> Task:
    """dev hands over to qa; nothing else is needed."""
    stations = [
        station("dev", {"id": "on", "to": "qa"}, requires=["handoff"], agent="developer-agent", **more),
        station("qa", agent="qa-agent"),
    ]
    return world.start(world.line(stations=stations))


def test_E14_a_handoff_goes_along_with_the_move_under_its_name(world: World) -> None:
    task = started(world)
    world.report(task, {"result": "success", "handoff": HANDOFF})
    kept = Handoff.objects.get()
    assert (kept.source, kept.target, kept.faults) == ("developer-agent", "qa-agent", [])
    assert kept.name == f"HO-developer-agent-qa-agent-{kept.at:%Y%m%dT%H%M%S}"
    assert kept.to_id == world.job(task).pk
    said = [each["handoff_id"] for each in export_task(task) if each["kind"] == "token.moved"]
    assert said == [kept.name]


def test_the_next_station_is_given_the_document(world: World) -> None:
    task = started(world)
    world.report(task, {"result": "success", "handoff": HANDOFF})
    job = Job.objects.select_related("task__project__owner").get(pk=world.job(task).pk)
    assert job_orders(job).handoff == HANDOFF
    first = Job.objects.select_related("task__project__owner").get(station="dev")
    assert job_orders(first).handoff is None


def test_E14_an_invalid_one_holds_the_task_and_is_named_with_its_place(world: World) -> None:
    task = started(world)
    world.report(task, {"result": "success", "handoff": {**HANDOFF, "evidence": {}}})
    assert (world.status(task), world.token(task).wait["missing"]) == ("held", ["handoff"])
    (why,) = [e["why"] for e in task.decisions.get().trace if "missing" in e["why"]]
    assert "handoff.evidence.contract_version: is missing" in why
    assert not Handoff.objects.exists()


def give(world: World, task: Task, document: Any, **more: Any) -> None:
    token = world.token(task)
    values = {"user": world.operator, "token_version": token.version, **more}
    engine.store_handoff_and_decide_again(token.pk, document=document, **values)


def test_a_person_gives_what_is_missing_and_it_goes_on_with_it(world: World) -> None:
    task = started(world)
    world.report(task)
    give(world, task, HANDOFF)
    assert world.at(task) == ["qa"]
    moved = Handoff.objects.exclude(name="").get()
    assert (moved.document, moved.by) == (HANDOFF, f"person:{world.operator.pk}")
    assert "handoff.added" in world.kinds(task)


def test_what_a_person_gives_is_held_against_the_schema_of_the_station(world: World) -> None:
    task = started(world, handoff={"type": "object", "required": ["why"]})
    world.report(task)
    with pytest.raises(Invalid) as refused:
        give(world, task, {"what": 1})
    assert (refused.value.path, world.status(task)) == ("handoff.why", "held")
    give(world, task, {"why": "because"})
    assert world.at(task) == ["qa"]


def test_only_a_task_that_waits_for_a_handoff_takes_one(world: World) -> None:
    task = started(world)
    with pytest.raises(Conflict):
        give(world, task, HANDOFF)
    world.report(task)
    with pytest.raises(Conflict):
        give(world, task, HANDOFF, token_version=world.token(task).version - 1)


def test_what_is_handed_over_unasked_is_kept_with_its_faults(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, {"result": "success", "handoff": {"note": "careful"}})
    kept = Handoff.objects.get()
    assert (kept.name[:15], len(kept.faults)) == (f"HO-build-ship-{kept.at:%Y}"[:15], 2)
