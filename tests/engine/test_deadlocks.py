"""Deadlocks are found, told and resolved, and what they held goes on (AEEF E22, E23)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, InputError, Invalid
from pipelines.models import Deadlock, Due, Escalation, Job, Lease, Task, Token
from pipelines.routing.decide.deadlocks import SUGGESTIONS
from pipelines.work.scheduler import timers
from reviews.models import Notice
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def line(world: World, **more: Any) -> Any:
    """build, of which a minute is expected, then ship."""
    build = station("build", {"id": "on", "to": "ship"}, limits={"expected": "1m"}, agent="builder")
    return world.line(stations=[build, "ship"], policy={"deadlocks": "yes"}, **more)


def stay(task: Task, seconds: float) -> None:
    """Let the task's job have run for so long."""
    since = timezone.now() - timedelta(seconds=seconds)
    Job.objects.filter(task=task, state="running").update(started_at=since)
    Token.objects.filter(task=task).update(entered_at=since)
    Due.objects.filter(task=task, kind="deadlock").update(set_at=since, due_at=since + timedelta(seconds=120))


def late(world: World) -> tuple[Task, Deadlock]:
    task = world.start(line(world))
    world.started(task)
    stay(task, 121)
    timers.run_due_timers_and_triggers()
    return task, Deadlock.objects.get(task=task)


def resolve(world: World, found: Deadlock, word: str, **more: Any) -> Task:
    return engine.resolve_deadlock(
        found.pk, **{"user": world.admin, "word": word, "reason": "Because.", **more}
    )


def test_E22_work_that_takes_more_than_twice_what_is_expected_is_a_deadlock(world: World) -> None:
    task, found = late(world)
    assert (found.kind, found.role, found.agents) == ("timeout", "admin", ["builder"])
    assert [(party["station"], party["status"]) for party in found.parties] == [("build", "held")]
    token = world.token(task)
    assert (token.status, token.wait["paused_by"]) == ("held", str(found.pk))
    assert not Lease.objects.exists()


def test_E22_what_takes_longer_than_expected_but_not_twice_is_none(world: World) -> None:
    task = world.start(line(world))
    world.started(task)
    stay(task, 90)
    Due.objects.filter(task=task, kind="deadlock").update(due_at=timezone.now())
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert not Deadlock.objects.exists()
    assert Due.objects.filter(task=task, kind="deadlock").exists()


def test_E22_a_move_begins_the_time_anew(world: World) -> None:
    task = world.start(line(world))
    world.started(task)
    assert Due.objects.filter(task=task, kind="deadlock").count() == 1
    world.report(task)
    assert not Due.objects.filter(task=task, kind="deadlock").exists()


def test_E23_its_agents_get_no_new_work(world: World) -> None:
    _task, found = late(world)
    other = world.start(line(world))
    assert engine.start_claimed_job_or_none(world.job(other).pk, world.claim()) is None
    resolve(world, found, "cancel")
    assert engine.start_claimed_job_or_none(world.job(other).pk, world.claim()) is not None


def test_E23_the_role_is_told_type_parties_states_handoffs_and_a_suggestion(world: World) -> None:
    """Under `aeef` the Development Manager; with what was handed over last, the newest first."""
    onward: dict[str, Any] = {"requires": [], "limits": {"expected": "1m"}}
    stations = [
        station("plan", {"id": "planned", "to": "build"}, agent="planner", **onward),
        station("build", {"id": "built", "to": "completed"}, agent="builder", **onward),
    ]
    task = world.start(world.line(stations=stations, preset="aeef"))
    manager = world.reviewer
    world.group("development-manager", manager)
    world.report(task, {"result": "success", "summary": "Planned.", "handoff": {"next": "Build it."}})
    world.started(task)
    stay(task, 121)
    timers.run_due_timers_and_triggers()
    found = Deadlock.objects.get(task=task)
    [event] = task.events.filter(kind="deadlock.found")
    assert (found.role, event.data["role"], event.trigger) == (*["Development Manager"] * 2, "timeout")
    told = {key: event.data["parties"][0][key] for key in ("name", "station", "agent", "status")}
    assert told == {"name": task.name, "station": "build", "agent": "builder", "status": "held"}
    assert [(each["station"], each["handoff"]) for each in found.handoffs] == [
        ("plan", {"next": "Build it."})
    ]
    assert event.data["suggestion"] == found.suggestion == SUGGESTIONS["timeout"]
    assert list(Notice.objects.values_list("address", flat=True)) == [manager.email]


def test_E23_context_lets_it_run_again_with_it(world: World) -> None:
    task, found = late(world)
    resolve(world, found, "context", reason="Use the small model.")
    job = world.started(task)
    assert (job.visit, job.attempt, job.feedback) == (2, 1, "Use the small model.")
    assert Due.objects.filter(task=task, kind="deadlock").exists()


def test_E23_a_chosen_output_is_the_outcome_of_the_station(world: World) -> None:
    task, found = late(world)
    resolve(world, found, "output", output={"built": True})
    task.refresh_from_db()
    assert (world.at(task), task.context) == (["ship"], {"built": True})


def test_E23_escalated_it_waits_for_the_solution_architect(world: World) -> None:
    task, found = late(world)
    resolve(world, found, "escalate")
    escalation = Escalation.objects.get(task=task)
    assert escalation.role == "Solution Architect"
    assert world.token(task).wait["paused_by"] == str(escalation.pk)
    engine.resolve_escalation(escalation.pk, user=world.admin, word="go_on", reason="Go.")
    assert world.status(task) == "queued"


def test_E23_cancelled_it_is_over(world: World) -> None:
    task, found = late(world)
    resolve(world, found, "cancel")
    assert world.status(task) == "cancelled"


def test_it_is_resolved_once_by_whom_it_is_for(world: World) -> None:
    _task, found = late(world)
    with pytest.raises(Forbidden):
        resolve(world, found, "context", user=world.operator)
    with pytest.raises(Invalid):
        resolve(world, found, "context", reason=" ")
    resolve(world, found, "context")
    with pytest.raises(Conflict):
        resolve(world, found, "context")


def test_a_task_waits_for_those_that_it_depends_on(world: World) -> None:
    version = world.line(stations=["build"])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    assert (world.status(second), world.token(second).wait) == ("held", {"depends_on": [first.name]})
    assert engine.start_claimed_job_or_none(world.job(second).pk, world.claim()) is None
    world.report(first)
    timers.run_due_timers_and_triggers()
    assert world.status(second) == "queued"
    world.report(second)
    assert world.status(second) == "completed"


def test_one_that_failed_is_no_help(world: World) -> None:
    version = world.line(stations=["build"])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    engine.cancel(first.pk, actor=engine.ENGINE)
    timers.run_due_timers_and_triggers()
    token = world.token(second)
    assert token.wait == {"depends_on": [first.name], "failed": [first.name]}
    engine.release(token.pk, user=world.operator, token_version=token.version)
    assert world.status(second) == "queued"


def test_what_does_not_exist_cannot_be_waited_for(world: World) -> None:
    with pytest.raises(InputError) as refused:
        world.start(world.line(stations=["build"]), depends_on=["WI-app-99"])
    assert refused.value.problems[0].path == "depends_on[0]"


def circle(world: World) -> tuple[Task, Task, Deadlock]:
    version = world.line(stations=["build"])
    first = world.start(version)
    second = world.start(version, depends_on=[first.name])
    engine.wait_for_tasks(first.pk, [second.name], actor=engine.Actor.person(world.operator))
    return first, second, Deadlock.objects.get()


def test_E22_tasks_that_wait_for_each_other_are_a_deadlock(world: World) -> None:
    first, second, found = circle(world)
    assert found.kind == "circular_wait"
    assert {party["name"] for party in found.parties} == {first.name, second.name}


def test_E23_a_circle_is_opened_by_taking_a_dependency_away(world: World) -> None:
    first, second, found = circle(world)
    resolve(world, found, "context")
    timers.run_due_timers_and_triggers()
    world.report(first)
    timers.run_due_timers_and_triggers()
    world.report(second)
    assert {world.status(first), world.status(second)} == {"completed"}


def test_a_circle_is_over_when_one_of_it_ends(world: World) -> None:
    first, second, found = circle(world)
    engine.cancel(first.pk, actor=engine.ENGINE)
    found.refresh_from_db()
    assert (found.state, found.how) == ("resolved", "ended")
    timers.run_due_timers_and_triggers()
    assert world.token(second).wait == {"depends_on": [first.name], "failed": [first.name]}


def test_E23_who_goes_straight_on_gives_its_agents_no_new_work_either(world: World) -> None:
    build = station("build", limits={"expected": "1m"}, agent="builder")
    version = world.line(stations=["plan", build], policy={"deadlocks": "yes"})
    task = world.start(version)
    world.report(task)
    world.started(task)
    stay(task, 121)
    timers.run_due_timers_and_triggers()
    assert Deadlock.objects.get().agents == ["builder"]
    other = world.start(version)
    world.report(other, offer_for_next=world.claim())
    assert (world.at(other), world.status(other)) == (["build"], "queued")


def test_work_that_goes_over_to_a_version_without_its_station_is_late_all_the_same(world: World) -> None:
    task = world.start(line(world))
    world.started(task)
    renamed = station("make", {"id": "on", "to": "ship"}, limits={"expected": "1m"}, agent="builder")
    to = world.line(stations=[renamed, "ship"], policy={"deadlocks": "yes"})
    engine.migrate([engine.TaskMigration(task.pk, to.pk, {"build": "make"})], engine.ENGINE)
    stay(task, 121)
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    resolve(world, Deadlock.objects.get(), "context")
    assert world.status(task) == "queued"


def test_what_was_held_by_hand_is_watched_again(world: World) -> None:
    task = world.start(line(world))
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    token = world.token(task)
    engine.release(token.pk, user=world.operator, token_version=token.version)
    world.started(task)
    assert Due.objects.filter(task=task, kind="deadlock").exists()


def wait_for(world: World, task: Task, *others: Task) -> None:
    engine.wait_for_tasks(
        task.pk, [other.name for other in others], actor=engine.Actor.person(world.operator)
    )


def test_a_running_job_ends_and_nothing_is_begun_after_it(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    first, other, task = (world.start(version) for _ in range(3))
    world.started(task)
    wait_for(world, task, first, other)
    world.report(task)
    assert (world.at(task), world.token(task).wait) == (["ship"], {"depends_on": [first.name, other.name]})
    for each in (first, other):
        world.report(each)
        world.report(each)
        timers.run_due_timers_and_triggers()
    assert world.status(task) == "queued"


def test_released_by_hand_it_waits_for_them_no_longer(world: World) -> None:
    version = world.line(stations=["build", "ship"])
    first = world.start(version)
    task = world.start(version, depends_on=[first.name])
    token = world.token(task)
    engine.release(token.pk, user=world.operator, token_version=token.version)
    world.report(task)
    assert (world.at(task), world.status(task)) == (["ship"], "queued")


def test_a_circle_is_told_once(world: World) -> None:
    first, second, found = circle(world)
    wait_for(world, first, second)
    assert Deadlock.objects.get() == found
