"""Work that no worker does: a wait, which the clock ends, and a choice, which a person makes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Invalid, NotFound
from pipelines.models import Due, Job, Lease, LineVersion, Task
from pipelines.queries.task_view import TaskView
from pipelines.work.scheduler import timers
from pipelines.work.transport.local import claimable, jobs
from tests.factories import World, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]


def waiting(key: str = "pause", *rules: Any, **work: Any) -> dict[str, Any]:
    return station(key, *rules, kind="wait", work=work)


def due_of(task: Task) -> Due:
    return Due.objects.get(task=task, kind="wait")


def fire(task: Task) -> str:
    due = due_of(task)
    return engine.fire_due_time_and_return_result(due.pk, due.due_at)


def test_a_wait_holds_no_worker_and_goes_on_when_its_time_has_come(world: World) -> None:
    before = timezone.now()
    task = world.start(world.line(stations=[waiting("pause", **{"for": "2h"}), "ship"]))
    job = world.job(task)
    assert (job.kind, job.state, job.lease_key, world.status(task)) == ("wait", "running", None, "running")
    assert Lease.objects.count() == 0
    assert before + timedelta(hours=2) <= due_of(task).due_at <= timezone.now() + timedelta(hours=2)
    assert timers.run_due_timers_and_triggers() == {}
    assert timers.run_due_timers_and_triggers(now=timezone.now() + timedelta(hours=3)) == {"fired": 1}
    assert (world.at(task), Due.objects.count()) == (["ship"], 0)
    done = Job.objects.get(pk=job.pk)
    assert (done.result, done.reported_by, done.attempt) == ("success", "engine", 1)


def test_the_page_of_a_task_says_until_when_it_waits(world: World) -> None:
    task = world.start(world.line(stations=[waiting(until="2031-05-06")]))
    [place] = TaskView(task, timezone.now()).positions
    assert place.sentence is not None
    assert place.sentence.text == "Waiting until 2031-05-06 00:00:00 UTC."


def test_no_worker_ever_takes_a_wait(world: World) -> None:
    task = world.start(world.line(stations=[waiting(**{"for": 60})]))
    job = world.job(task)
    assert engine.start_claimed_job_or_none(job.pk, world.claim()) is None
    assert jobs.start_open_job_of_token_or_none(job.token_id, world.claim()) is None
    assert claimable.unattended_jobs(world.claim(), {"drive": 9, "quick": 9}, 0.0) == {}
    assert timers.expire_due_leases() == {}
    with pytest.raises(NotFound):
        engine.complete_manual_job(
            job.pk, user=world.operator, token_version=0, outcome={"result": "success"}
        )


def test_a_wait_until_a_time_is_told_by_a_template(world: World) -> None:
    version = world.line(
        stations=[waiting("pause", until="{{input.when}}")], inputs=[{"key": "when", "type": "text"}]
    )
    task = world.start(version, inputs={"when": "2031-05-06T07:08:09+02:00"})
    assert due_of(task).due_at == datetime(2031, 5, 6, 5, 8, 9, tzinfo=UTC)
    day = world.start(version, inputs={"when": "2031-05-06"})
    assert due_of(day).due_at == datetime(2031, 5, 6, tzinfo=UTC)


def test_a_time_that_has_passed_is_no_wait(world: World) -> None:
    task = world.start(world.line(stations=[waiting(until="2001-01-01T00:00:00Z"), "ship"]))
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert world.at(task) == ["ship"]


@pytest.mark.parametrize("when", ["soon", "", "{{context.nothing}}", "2031-13-01", "99999-01-01"])
def test_what_is_no_time_is_a_failure_that_rules_route(world: World, when: str) -> None:
    rule = {"id": "bad", "when": {"failure_type": "template_error"}, "to": "mend"}
    version = world.line(
        stations=[waiting("pause", rule, until=when if "{{" in when else "{{input.when}}"), "mend"],
        inputs=[{"key": "when", "type": "text", "default": ""}],
    )
    task = world.start(version, inputs={"when": when or " "})
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert world.at(task) == ["mend"]
    assert "work.until" in Job.objects.get(task=task, station="pause").summary


def test_what_is_no_time_is_a_failure_also_where_it_is_due_later(world: World) -> None:
    rule = {"id": "bad", "when": {"failure_type": "template_error"}, "to": "mend"}
    task = world.start(world.line(stations=[waiting("pause", rule, until="{{context.nothing}}"), "mend"]))
    # As the end of a pause moves it
    Due.objects.update(due_at=F("set_at") + timedelta(microseconds=1))
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert world.at(task) == ["mend"]


def test_the_longest_of_waits_is_still_a_time(world: World) -> None:
    task = world.start(world.line(stations=[waiting(until="9999-12-31T23:59:59Z")]))
    assert due_of(task).due_at.year - timezone.now().year in (99, 100)


def test_cancelling_a_task_ends_its_wait(world: World) -> None:
    task = world.start(world.line(stations=[waiting(**{"for": "1h"})]))
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="enough")
    assert (world.status(task), Due.objects.count()) == ("cancelled", 0)


def test_a_branch_waits_while_the_others_work(world: World) -> None:
    both = {"id": "both", "to": ["pause", "check"]}
    ends = [{"id": f"end-{index}", "to": "completed"} for index in range(2)]
    waits, works = waiting("pause", ends[0], **{"for": "1h"}), station("check", ends[1])
    task = world.start(world.line(stations=[station("go", both), waits, works]))
    world.report(task)
    world.report(task, station="check")
    assert world.at(task) == ["pause"]
    assert fire(task) == "fired"
    assert world.status(task) == "completed"


def test_two_firings_of_one_wait_move_once(world: World) -> None:
    task = world.start(world.line(stations=[waiting(**{"for": "1h"}), "ship"]))
    due = due_of(task)
    assert [engine.fire_due_time_and_return_result(due.pk, due.due_at) for _ in range(2)] == ["fired", "gone"]
    assert world.at(task) == ["ship"]


# A person chooses


def choosing(world: World, **work: Any) -> LineVersion:
    rules = [
        {"id": "bug", "when": {"eval": {"op": "equals", "value": "Bug"}}, "to": "fix"},
        {"id": "idea", "when": {"eval": {"op": "equals", "value": "idea"}}, "to": "plan"},
        {"id": "else", "to": "failed"},
    ]
    return world.line(
        stations=[station("sort", *rules, kind="route", work={"by": "person", **work}), "fix", "plan"]
    )


def test_B12_a_person_picks_one_of_the_labels_of_the_rules(world: World) -> None:
    task = world.start(choosing(world))
    job = world.job(task)
    assert (job.kind, job.state) == ("manual", "running")
    version = world.token(task).version
    engine.complete_manual_job(
        job.pk,
        user=world.operator,
        token_version=version,
        outcome={"result": "success", "output": {"label": "idea"}},
    )
    assert world.at(task) == ["plan"]
    done = Job.objects.get(pk=job.pk)
    assert (done.outcome["eval"], "output" in done.outcome) == ("idea", False)


def test_B12_what_is_no_label_is_refused(world: World) -> None:
    task = world.start(choosing(world))
    job, version = world.job(task), world.token(task).version
    for output in ({"label": "bug"}, {}, {"label": "Bug", "more": 1}):
        with pytest.raises(Invalid):
            engine.complete_manual_job(
                job.pk,
                user=world.operator,
                token_version=version,
                outcome={"result": "success", "output": output},
            )
    assert world.at(task) == ["sort"]
    with pytest.raises(Conflict):
        engine.complete_manual_job(
            job.pk,
            user=world.operator,
            token_version=version + 1,
            outcome={"result": "success", "output": {"label": "Bug"}},
        )
