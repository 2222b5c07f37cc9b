"""A worker that goes straight on has the next job from the answer to its report, also where the way forks or joins."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Job
from tests.factories import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
BRANCHES = ["a", "b"]


def station(key: str, to: Any, **more: Any) -> dict[str, Any]:
    rules = [{"id": f"{key}-on", "when": {"result": "success"}, "to": to}]
    return {"key": key, "work": {"kind": "noop"}, "rules": rules, **more}


def forked(world: World) -> Any:
    stations = [
        station("start", BRANCHES),
        *(station(key, "end") for key in BRANCHES),
        station("end", "completed", join={"wait_for": BRANCHES}),
    ]
    return world.line({"gateline": 1, "key": "line", "name": "Line", "stations": stations})


def reported(world: World, job: Job, go_on: bool = True) -> engine.ReportResult:
    claim = world.claim() if go_on else None
    by = f"worker:{world.worker.pk}"
    said = engine.Report(
        job.pk, job.attempt, job.lease_key, {"result": "success"}, by=by, offer_for_next=claim, observed_by=by
    )
    (answer,) = engine.report([said])
    assert answer.status == "accepted"
    return answer


def test_of_a_fork_the_first_branch_comes_along_and_the_other_waits_for_anybody(world: World) -> None:
    task = world.start(forked(world))
    answer = reported(world, world.started(task))
    first, other = Job.objects.filter(task=task, station__in=BRANCHES).order_by("pk")
    assert (answer.next_job_id, answer.next_lease) == (first.pk, first.lease_key)
    assert (first.station, first.state, first.worker_id) == ("a", Job.State.RUNNING, world.worker.pk)
    assert (other.state, other.lease_key) == (Job.State.QUEUED, None)


def test_what_follows_a_join_comes_along_with_the_report_that_completes_it(world: World) -> None:
    task = world.start(forked(world))
    first = reported(world, world.started(task)).following
    assert first is not None
    assert reported(world, first).next_job_id is None, "it waits at the join"
    answer = reported(world, world.started(task))
    assert answer.following is not None and answer.next_lease == answer.following.lease_key
    assert answer.following.station == "end"


def test_who_does_not_go_on_is_handed_nothing(world: World) -> None:
    task = world.start(forked(world))
    answer = reported(world, world.started(task), go_on=False)
    assert answer.next_lease is None
    assert {job.state for job in Job.objects.filter(task=task, station__in=BRANCHES)} == {Job.State.QUEUED}
