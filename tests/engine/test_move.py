"""Moving by hand (law §17): retry, to another station, and where success leads; the plan says it first."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import GateVisit, Lease, Repository, RepositoryProtection, Task
from pipelines.queries.protections import canonical_address
from tests.factories import World, make_member, station

pytestmark = pytest.mark.django_db

REVIEW = {
    "key": "review",
    "name": "Review",
    "mode": "manual",
    "approval": {"who": [{"role": "reviewer", "count": 2}]},
}
GATED = {"id": "on", "to": "ship", "gates": ["review"]}


def move(world: World, task: Task, to: str = "", **more: Any) -> Task:
    token = world.token(task)
    return engine.move_or_retry_by_hand(
        token.pk, **{"user": world.operator, "token_version": token.version, "to": to, **more}
    )


def plan(world: World, task: Task, to: str = "") -> engine.MovePlan:
    token = world.token(task)
    return engine.plan_move(token.pk, user=world.operator, token_version=token.version, to=to)


def gated(world: World, **more: Any) -> Task:
    task = world.start(world.line(stations=[station("build", GATED), "ship"], gates=[REVIEW], **more))
    world.report(task)
    return task


def test_a_move_stops_the_work_and_its_late_report_moves_nothing(world: World) -> None:
    task = world.start(world.line(stations=["build", "test", "ship"]))
    job = engine.start_claimed_job_or_none(world.job(task).pk, world.claim())
    assert job is not None
    assert plan(world, task, "ship") == engine.MovePlan((("ship", "queued"),), work="build")
    move(world, task, "ship", reason="no need")
    assert (world.at(task), world.job(task).visit, Lease.objects.count()) == (["ship"], 1, 0)
    late = engine.report([engine.Report(job.pk, 1, job.lease_key, {"result": "success"}, "worker")])[0]
    assert (late.status, world.at(task)) == ("conflict", ["ship"])
    event = task.events.get(kind="token.moved")
    assert (event.source, event.target, event.trigger) == ("build", "ship", "move")
    assert event.data["by"] == "hand"


def test_a_retry_at_a_gate_takes_the_votes_away_and_passes_no_gate(world: World) -> None:
    task = gated(world)
    world.vote(task, "approve")
    planned = plan(world, task)
    assert (planned.places, planned.votes, planned.asks) == ((("build", "queued"),), 1, ("ship",))
    assert planned.closes == ("review",)
    assert GateVisit.objects.get().state == "open"
    move(world, task)
    assert (world.at(task), GateVisit.objects.get().state) == (["build"], "closed")
    world.report(task)
    assert GateVisit.objects.filter(state="open").count() == 1


@pytest.mark.parametrize("begun", [False, True])
def test_a_skip_goes_where_success_leads_and_its_gate_is_asked(world: World, begun: bool) -> None:
    rules = (
        {"id": "bad", "when": {"result": ["failure", "cancelled"]}, "to": "build", "max_retries": 1},
        GATED,
    )
    task = world.start(world.line(stations=[station("build", *rules), "ship"], gates=[REVIEW]))
    if begun:
        engine.start_claimed_job_or_none(world.job(task).pk, world.claim())
    planned = plan(world, task, engine.SUCCESS)
    assert (planned.places, planned.gates) == ((("build", "awaiting_review"),), ("review",))
    move(world, task, engine.SUCCESS, reason="done elsewhere")
    assert world.status(task) == "awaiting_review"
    job = task.jobs.get()
    assert (job.result, job.summary) == ("cancelled", f"Skipped by {world.operator}. done elsewhere")
    assert job.reported_by == f"person:{world.operator.pk}"


def test_a_skip_of_what_is_stuck_is_a_visit_of_its_own_and_may_end_the_task(world: World) -> None:
    never = {"id": "never", "when": {"result": ["success"]}, "to": "completed"}
    task = world.start(world.line(stations=[station("build", never)], policy={"on_failure": "stuck"}))
    world.report(task, {"result": "failure"})
    assert world.status(task) == "stuck"
    assert plan(world, task, engine.SUCCESS).end == "completed"
    assert world.status(task) == "stuck"
    move(world, task, engine.SUCCESS)
    assert (world.status(task), task.jobs.count()) == ("completed", 2)


def test_nobody_skips_a_gate(world: World) -> None:
    with pytest.raises(Conflict):
        move(world, gated(world), engine.SUCCESS)


def test_a_station_that_is_none_and_a_page_that_is_old_are_refused(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    with pytest.raises(Invalid) as refused:
        move(world, task, "nowhere")
    assert refused.value.path == "to"
    seen = world.token(task).version
    move(world, task, "ship")
    verbs: tuple[Any, ...] = (engine.move_or_retry_by_hand, engine.plan_move)
    for verb in verbs:
        with pytest.raises(Conflict):
            verb(world.token(task).pk, user=world.operator, token_version=seen, to="build")


PROMISE = {"id": "reviewed", "never": {"reach": "ship", "without": "review"}}


def test_a_guarantee_that_breaks_is_named_and_only_an_administrator_may(world: World) -> None:
    task = gated(world, guarantees=[PROMISE])
    assert plan(world, task, "ship").breaks == ("reviewed",)
    assert plan(world, task, "build").breaks == ()
    with pytest.raises(Invalid) as refused:
        move(world, task, "ship", reason="now")
    assert refused.value.path == "accepts"
    with pytest.raises(Forbidden):
        move(world, task, "ship", reason="now", accepts=["reviewed"])
    with pytest.raises(Invalid) as mute:
        move(world, task, "ship", accepts=["reviewed"], user=world.admin)
    assert mute.value.path == "reason"
    move(world, task, "ship", reason="now", accepts=["reviewed"], user=world.admin)
    assert task.events.get(kind="token.moved").data["breaks"] == ["reviewed"]


def test_what_the_past_has_kept_is_not_broken_until_a_visit_that_does_not_pass(world: World) -> None:
    on = {"id": "on", "to": "pack", "gates": ["review"]}
    flow = [station("build", on), "pack", "ship"]
    task = world.start(world.line(stations=flow, gates=[REVIEW], guarantees=[PROMISE]))
    world.report(task)
    world.vote(task)
    world.vote(task, by=make_member(world.project, "reviewer"))
    assert world.at(task) == ["pack"]
    assert plan(world, task, "ship").breaks == ()
    move(world, task, "build")
    assert plan(world, task, "ship").breaks == ("reviewed",)


def protected(world: World) -> Task:
    """fix → (review by two) → merge, into a repository that asks for two approvals; its work is done."""
    address = "https://git.example.com/team/app"
    Repository.objects.create(project=world.project, name="app", address=address, connected_at=timezone.now())
    RepositoryProtection.objects.create(
        project=world.project, place=canonical_address(address), rules={"approvals": 2}
    )
    work = {"to": "merge", "gate": "review"}
    flow = [
        station("fix", {"id": "on", "to": "merge", "gates": ["review"]}),
        station("merge", kind="deliver", work=work),
    ]
    task = world.start(world.line(stations=flow, gates=[REVIEW], workspace={"git": {"repository": "app"}}))
    world.report(task)
    return task


def test_a_move_around_what_protects_a_repository_asks_as_well(world: World) -> None:
    task = protected(world)
    planned = plan(world, task, "merge")
    assert planned.breaks == ("protection",) and "without 2 approvals" in planned.sentences[0]
    assert plan(world, task, "fix").breaks == ()
    with pytest.raises(Invalid) as unconfirmed:
        move(world, task, "merge", reason="now", user=world.admin)
    assert unconfirmed.value.path == "accepts" and "without 2 approvals" in unconfirmed.value.message
    with pytest.raises(Forbidden):
        move(world, task, "merge", reason="now", accepts=["protection"])
    assert world.status(task) == "awaiting_review"
    move(world, task, "merge", reason="now", accepts=["protection"], user=world.admin)
    assert (world.at(task), task.events.get(kind="token.moved").data["breaks"]) == (["merge"], ["protection"])


def test_a_machine_moves_but_confirms_nothing(world: World) -> None:
    task = gated(world, guarantees=[PROMISE])
    made, _secret = world.machine()
    machine = engine.Actor("machine", str(made.pk), made.name)
    with pytest.raises(Forbidden):
        move(world, task, "ship", reason="now", accepts=["reviewed"], user=machine)
    move(world, task, "build", user=machine)
    assert task.events.get(kind="token.moved").actor == f"machine:{made.pk}"


def test_a_plan_has_as_many_statements_for_a_long_past(
    world: World, django_assert_max_num_queries: Any
) -> None:
    task = gated(world, guarantees=[PROMISE])
    with django_assert_max_num_queries(25):
        plan(world, task, "ship")
    for _round in range(10):
        move(world, task)
        world.report(task)
    with django_assert_max_num_queries(25):
        plan(world, task, "ship")
