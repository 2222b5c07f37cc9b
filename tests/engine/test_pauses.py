"""Pausing and resuming a task, a station, a line and a project (law §17)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.engine.invariants import find_violations
from pipelines.errors import Conflict
from pipelines.models import Deadlock, Due, Escalation, GateVisit, Job, Lease, LineVersion, Pause, Task
from pipelines.work.scheduler import timers
from reviews.models import AskedPlace
from tests.factories import World, document, station
from tests.waiting import until

pytestmark = pytest.mark.django_db

SIGN = {"key": "sign", "name": "Sign", "mode": "manual", "due": {"after": "1h", "then": "reject"}}
HOUR = timedelta(hours=1)


def line(world: World, key: str = "line") -> LineVersion:
    """build → (sign) → rest (an hour) → ship."""
    stations = [
        station("build", {"id": "signed", "to": "rest", "gates": ["sign"]}),
        station("rest", kind="wait", work={"for": "1h"}),
        "ship",
    ]
    return world.line(document(stations, key, gates=[SIGN]))


def scopes(task: Task) -> dict[str, PauseScope]:
    return {
        "project": PauseScope(task.project),
        "line": PauseScope(task.project, task.line),
        "station": PauseScope(task.project, task.line, "build"),
        "task": PauseScope(task.project, task=task),
    }


def pause(world: World, scope: PauseScope, **more: Any) -> Pause:
    made = engine.pause(scope, user=world.operator, reason="Release freeze", **more)
    timers.run_due_timers_and_triggers()
    return made


def resume(world: World, scope: PauseScope, after: timedelta = timedelta()) -> None:
    """Resume it as if it had been paused so much longer."""
    Due.objects.filter(paused_at__isnull=False).update(paused_at=F("paused_at") - after)
    Pause.objects.filter(ended_at=None).update(since=F("since") - after)
    engine.resume(scope, user=world.operator)
    timers.run_due_timers_and_triggers()


def length(made: Pause) -> timedelta:
    made.refresh_from_db()
    assert made.ended_at is not None
    return made.ended_at - made.since


@pytest.mark.parametrize("which", ["project", "line", "station", "task"])
def test_what_is_queued_waits_until_it_is_resumed(world: World, which: str) -> None:
    task = world.start(line(world))
    scope, other = scopes(task)[which], world.start(line(world, "other"))
    made = pause(world, scope)
    assert world.status(task) == "held"
    assert world.token(task).wait["paused"] == made.pk
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is None
    assert world.status(other) == ("held" if which == "project" else "queued")
    resume(world, scope)
    assert (world.status(task), world.status(other)) == ("queued", "queued")
    assert world.kinds(task)[-4:] == ["token.waits", "task.paused", "token.released", "task.resumed"]
    event = task.events.get(kind="task.resumed")
    assert (event.actor, event.data["scope"]) == (f"person:{world.operator.pk}", which)
    assert event.data.get("station") == ("build" if which == "station" else None)
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is not None
    assert find_violations() == []


def test_running_work_drains_and_what_follows_waits(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.started(task)
    pause(world, scopes(task)["line"])
    assert world.status(task) == "running"
    world.report(task)
    assert (world.at(task), world.status(task)) == (["ship"], "held")
    resume(world, scopes(task)["line"])
    assert world.status(task) == "queued"
    assert find_violations() == []


def test_running_work_is_taken_back_where_the_pause_stops_it(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    late = world.report_of(world.started(task))
    pause(world, scopes(task)["task"], stops=True)
    assert (world.status(task), Lease.objects.count()) == ("held", 0)
    assert engine.report([late])[0].status in ("conflict", "ignored")
    resume(world, scopes(task)["task"])
    assert (world.status(task), world.job(task).attempt) == ("queued", late.attempt)
    assert find_violations() == []


def test_a_task_that_starts_under_a_pause_waits(world: World) -> None:
    version = line(world)
    scope = PauseScope(world.project, version.line)
    pause(world, scope)
    task = world.start(version)
    assert world.status(task) == "held"
    resume(world, scope)
    assert world.status(task) == "queued"


@pytest.mark.parametrize("which", ["project", "line", "station", "task"])
def test_the_time_of_a_gate_moves_by_the_length_of_the_pause(world: World, which: str) -> None:
    task = world.start(line(world))
    world.report(task)
    due, visit = Due.objects.get(kind="gate"), world.visit(task)
    scope = scopes(task)[which]
    made = pause(world, scope)
    assert Due.objects.get(pk=due.pk).paused_at == made.since
    timers.run_due_timers_and_triggers(timezone.now() + 2 * HOUR)
    assert world.status(task) == "awaiting_review"
    resume(world, scope, HOUR)
    moved, shown = Due.objects.get(pk=due.pk), GateVisit.objects.get(pk=visit.pk)
    assert moved.paused_at is None and visit.due_at is not None
    assert HOUR < moved.due_at - due.due_at == length(made)
    assert shown.due_at == moved.due_at
    assert set(AskedPlace.objects.filter(visit=visit).values_list("order_at", flat=True)) == {shown.due_at}
    event = task.events.get(kind="task.resumed")
    assert event.data["moved"] == {f"gate:{visit.pk}": moved.due_at.isoformat()}
    assert find_violations() == []


def test_a_task_an_escalation_and_a_wait_go_on_as_long_after(world: World) -> None:
    task = world.start(line(world), due_at=timezone.now() + HOUR)
    world.report(task)
    world.vote(task)
    raised = engine.escalate(task.pk, user=world.operator, trigger="help", reason="Look.")
    before = {due.kind: due.due_at for due in Due.objects.all()}
    made = pause(world, scopes(task)["line"])
    resume(world, scopes(task)["line"], HOUR)
    after = {due.kind: due.due_at for due in Due.objects.all()}
    assert set(after) == set(before) >= {"task", "wait"}
    for kind, at in after.items():
        assert HOUR < at - before[kind] == length(made), kind
    task.refresh_from_db()
    assert task.due_at == after["task"]
    if "escalation" in after:
        assert Escalation.objects.get(pk=raised.pk).due_at == after["escalation"]
    assert find_violations() == []


@pytest.mark.parametrize(("paused", "stands"), [("build", True), ("ship", False)])
def test_a_pause_of_a_station_stops_the_clock_of_what_is_escalated_there(
    world: World, paused: str, stands: bool
) -> None:
    escalation = {"trigger": "on_failure", "role": "Lead", "sla": "4h"}
    stations = [station("build", {"id": "on", "when": {"result": "success"}, "to": "ship"}), "ship"]
    task = world.start(
        world.line(stations=stations, preset="aeef", policy={"no_rules": "advance"}, escalations=[escalation])
    )
    world.report(task, {"result": "failure"})
    before, scope = Due.objects.get(kind="escalation"), PauseScope(task.project, task.line, paused)
    made = pause(world, scope)
    assert (Due.objects.get(kind="escalation").paused_at is not None) == stands
    resume(world, scope, HOUR)
    after = Due.objects.get(kind="escalation").due_at
    assert after - before.due_at == (length(made) if stands else timedelta())
    assert Escalation.objects.get(task=task).due_at == after
    assert find_violations() == []


def test_nothing_is_released_into_a_pause(world: World) -> None:
    by_hand = world.line(stations=[station("build", kind="manual")])
    task = world.start(by_hand, depends_on=[world.start(line(world, "other")).name])
    scope = PauseScope(task.project, task.line, "build")
    # Its turn has not come, and who releases the task is faster
    made, token = engine.pause(scope, user=world.operator), world.token(task)
    engine.release(token.pk, user=world.operator, token_version=token.version)
    assert (world.status(task), world.token(task).wait["paused"]) == ("held", made.pk)
    timers.run_due_timers_and_triggers()
    assert "then" not in world.token(task).wait
    resume(world, scope)
    assert world.status(task) == "running"
    assert find_violations() == []


@pytest.mark.parametrize("which", ["project", "station"])
def test_work_of_a_person_is_not_late_by_a_pause(world: World, which: str) -> None:
    build = station("build", kind="manual", limits={"expected": "1h"})
    task = world.start(world.line(stations=[build], policy={"deadlocks": "yes"}))
    scope, before = scopes(task)[which], Due.objects.get(kind="deadlock").due_at
    made = pause(world, scope)
    assert Due.objects.get(kind="deadlock").paused_at == made.since
    timers.run_due_timers_and_triggers(timezone.now() + 5 * HOUR)
    assert (world.status(task), Deadlock.objects.count()) == ("running", 0)
    # As if it had begun three hours ago, and been paused all the time
    Job.objects.filter(task=task).update(started_at=F("started_at") - 3 * HOUR)
    resume(world, scope, 3 * HOUR)
    assert Due.objects.get(kind="deadlock").due_at - before == length(made)
    Due.objects.filter(kind="deadlock").update(due_at=timezone.now())
    timers.run_due_timers_and_triggers()
    left = Due.objects.get(kind="deadlock").due_at - timezone.now()
    assert (Deadlock.objects.count(), left > HOUR) == (0, True)
    assert find_violations() == []


def test_what_a_worker_does_under_a_pause_is_late_as_ever(world: World) -> None:
    build = station("build", limits={"expected": "1h"})
    task = world.start(world.line(stations=[build], policy={"deadlocks": "yes"}))
    world.started(task)
    pause(world, scopes(task)["project"])
    Job.objects.filter(task=task).update(started_at=F("started_at") - 3 * HOUR)
    timers.run_due_timers_and_triggers(timezone.now() + 3 * HOUR)
    assert Deadlock.objects.get().kind == "timeout"


def test_of_two_pauses_the_last_to_end_lets_go(world: World) -> None:
    task = world.start(line(world))
    world.report(task)
    before = Due.objects.get(kind="gate").due_at
    first = pause(world, scopes(task)["line"])
    last = pause(world, scopes(task)["task"])
    resume(world, scopes(task)["line"])
    assert Due.objects.get(kind="gate").paused_at == first.since
    resume(world, scopes(task)["task"])
    after = Due.objects.get(kind="gate")
    last.refresh_from_db()
    assert last.ended_at is not None
    assert (after.paused_at, after.due_at - before) == (None, last.ended_at - first.since)
    assert find_violations() == []


def test_a_clock_goes_on_between_two_pauses(world: World) -> None:
    task = world.start(line(world))
    world.report(task)
    before, lengths = Due.objects.get(kind="gate").due_at, timedelta()
    # Nobody does what is due before all of it is over.
    for which in ("line", "task", "station"):
        made = engine.pause(scopes(task)[which], user=world.operator)
        engine.resume(scopes(task)[which], user=world.operator)
        lengths += length(made)
    timers.run_due_timers_and_triggers()
    assert Due.objects.get(kind="gate").due_at - before == lengths
    assert world.kinds(task).count("task.resumed") == 3
    assert find_violations() == []


def test_a_time_that_a_pause_moves_does_not_come_before_that(world: World) -> None:
    task = world.start(line(world))
    world.report(task)
    due = Due.objects.get(kind="gate")
    engine.pause(scopes(task)["line"], user=world.operator)
    for at in (Due.objects.filter(pk=due.pk), GateVisit.objects.filter(task=task)):
        at.update(due_at=timezone.now())
    assert engine.fire_due_time_and_return_result(due.pk) == "gone"
    engine.resume(scopes(task)["line"], user=world.operator)
    assert (engine.fire_due_time_and_return_result(due.pk), world.status(task)) == ("gone", "awaiting_review")
    # It was moved by as long as the pause took, which may not be over yet
    until(
        lambda: (timers.run_due_timers_and_triggers(), world.status(task))[1] == "failed",
        "the gate to be overdue",
    )
    assert find_violations() == []


def test_it_is_paused_once_and_resumed_once(world: World) -> None:
    scope = scopes(world.start(line(world)))["line"]
    pause(world, scope)
    with pytest.raises(Conflict) as told:
        engine.pause(scope, user=world.admin)
    assert str(world.operator) in told.value.detail
    resume(world, scope)
    with pytest.raises(Conflict):
        engine.resume(scope, user=world.admin)


def test_nobody_releases_what_a_pause_holds(world: World) -> None:
    task = world.start(line(world))
    pause(world, scopes(task)["line"])
    token = world.token(task)
    with pytest.raises(Conflict):
        engine.release(token.pk, user=world.operator, token_version=token.version)
    moved = engine.move_or_retry_by_hand(
        token.pk, user=world.operator, token_version=token.version, to="ship"
    )
    assert (world.at(moved), world.status(moved)) == (["ship"], "held")


@pytest.mark.broken
def test_a_pause_that_is_gone_and_holds_on_is_noticed(world: World) -> None:
    task = world.start(line(world))
    world.report(task)
    pause(world, scopes(task)["line"])
    Pause.objects.all().delete()
    assert "stands still" in str(find_violations())


@pytest.mark.broken
def test_a_hold_whose_pause_is_gone_is_noticed(world: World) -> None:
    pause(world, scopes(world.start(line(world)))["line"])
    Pause.objects.all().delete()
    assert "which is over" in str(find_violations())
