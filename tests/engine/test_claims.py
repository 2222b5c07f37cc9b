"""Leases: who gets a job, and what happens when a worker is gone (house §4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.models import Job, Lease, Task
from pipelines.ports import leases
from pipelines.ports.leases import MAX_ATTEMPTS
from tests.factories import World, station

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(world: World) -> Task:
    return world.start(world.line(stations=["build", "ship"]))


def test_a_claimed_job_has_its_lease_from_the_start(world: World, task: Task) -> None:
    job = world.started(task)
    lease = Lease.objects.get(job=job)
    assert (lease.key, lease.worker_id) == (job.lease_key, world.worker.pk)
    assert lease.expires_at > timezone.now()
    assert (job.state, world.status(task)) == (Job.State.RUNNING, "running")


def test_only_one_of_two_claims_gets_the_job(world: World, task: Task) -> None:
    job = world.job(task)
    assert engine.start_claimed_job_or_none(job.pk, world.claim()) is not None
    assert engine.start_claimed_job_or_none(job.pk, world.claim()) is None
    assert world.kinds(task).count("job.started") == 1


def test_a_claim_gets_only_what_it_offers_to_take(world: World) -> None:
    task = world.start(world.line(stations=[station("build", labels=["gpu"])]))
    job = world.job(task)
    assert engine.start_claimed_job_or_none(job.pk, world.claim()) is None
    assert (
        engine.start_claimed_job_or_none(
            job.pk, replace(world.claim(), labels=frozenset({"gpu"}), owners=frozenset({"x"}))
        )
        is None
    )
    assert (
        engine.start_claimed_job_or_none(job.pk, replace(world.claim(), labels=frozenset({"gpu", "arm"})))
        is not None
    )


def test_a_job_for_a_person_goes_to_no_worker(world: World) -> None:
    task = world.start(world.line(stations=[station("triage", kind="manual")]))
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is None


def test_a_lost_lease_is_the_same_job_with_the_next_attempt(world: World, task: Task) -> None:
    before = world.started(task)
    assert world.lose(task) == "requeued"
    job = world.job(task)
    assert (job.pk, job.attempt, job.state, job.lease_key) == (before.pk, 2, Job.State.QUEUED, None)
    assert (world.status(task), "job.lost" in world.kinds(task)) == ("queued", True)
    assert not Lease.objects.exists()


def test_the_last_attempt_ends_as_a_cancelled_outcome_that_is_routed(world: World) -> None:
    rescue = {"id": "rescue", "when": {"result": "cancelled"}, "to": "triage"}
    task = world.start(world.line(stations=[station("build", rescue), "triage"]))
    for _ in range(MAX_ATTEMPTS - 1):
        world.started(task)
        assert world.lose(task) == "requeued"
    world.started(task)
    assert world.lose(task) == "ended"
    assert world.at(task) == ["triage"]
    job = task.jobs.get(station="build")
    assert (job.attempt, job.outcome) == (MAX_ATTEMPTS, {"result": "cancelled", "reason": "lease_lost"})


def test_a_lease_that_was_renewed_meanwhile_is_kept(world: World, task: Task) -> None:
    job = world.started(task)
    world.expire(task)
    assert leases.renew_leases_by_job(world.worker.pk) == {job.pk: job.lease_key}
    assert job.lease_key is not None
    assert engine.expire_lease(job.pk, job.attempt, job.lease_key) == "kept"
    assert world.report(task).status == "accepted"


def test_a_reported_job_cannot_be_lost(world: World, task: Task) -> None:
    job = world.started(task)
    world.report(task)
    assert job.lease_key is not None
    assert engine.expire_lease(job.pk, job.attempt, job.lease_key) == "kept"
    assert world.at(task) == ["ship"]


def test_a_planned_stop_counts_no_attempt(world: World, task: Task) -> None:
    job = world.started(task)
    assert job.lease_key is not None
    assert engine.requeue_job_and_return_result(job.pk, job.attempt, job.lease_key) == "requeued"
    again = world.started(task)
    assert (again.pk, again.attempt) == (job.pk, 1)
    assert again.lease_key != job.lease_key
    late = engine.Report(job.pk, 1, job.lease_key, {"result": "success"}, by="worker:gone")
    assert engine.report([late])[0].status == "ignored"
