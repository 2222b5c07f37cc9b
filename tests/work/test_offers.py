"""A worker takes what it can do; what nobody offers to do waits, and says so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Job, Task, Worker
from pipelines.ports.leases import WorkOffer, evaluations_live_workers_can_answer
from pipelines.ports.terms import LEASE_SECONDS
from pipelines.queries import unclaimable_jobs
from pipelines.routing.document.kinds import DEFAULT_MODEL, MODEL_SERVER, required_offers
from pipelines.routing.document.line import read_line
from pipelines.work.config import WorkerConfig
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.processes.isolation import Isolation
from tests.factories import World, document, make_worker, station
from tests.pages.conftest import client_of
from tests.work.driving import Bench, drive
from tests.work.modelserver import model, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
CHAT = {"kind": "chat", "work": {"prompt": "Say it."}}
ROUTE = {"kind": "route", "work": {"prompt": "Which?"}}
LABELLED = {"id": "r", "when": {"eval": {"op": "equals", "value": "x"}}, "to": "completed"}
CALL = {
    "kind": "http",
    "work": {"url": "https://example.com/", "headers": {"Authorization": {"secret": "API"}}},
}


def started(world: World, given: dict[str, Any], *rules: Any, **more: Any) -> Task:
    return world.start(world.line(document([station("ask", *rules, **given, **more), "b"], "offers")))


def nobody_is_here(world: World) -> None:
    """But for the workers that a test starts."""
    Worker.objects.update(offers=[])


@pytest.mark.parametrize(
    ("given", "rules", "more", "lacks"),
    [
        (CHAT, (), {}, "No active runner has a model."),
        (ROUTE, (LABELLED,), {}, "No active runner has a model."),
        (CALL, (), {}, "No active runner has the secret API."),
        (CHAT, (), {"outgoing": Outgoing(endpoint=Endpoint("http://127.0.0.1:1/v1"))}, "a default model"),
    ],
)
def test_a_worker_leaves_what_it_cannot_do_and_the_page_says_what_is_missing(
    world: World, bench: Bench, given: Any, rules: Any, more: dict[str, Any], lacks: str
) -> None:
    task = started(world, given, *rules)
    config = WorkerConfig(bench.base, Isolation("none"), **more)
    Worker.objects.update(offers=sorted(config.offers))
    drive(bench, task, **more)
    job = Job.objects.get(task=task)
    assert (job.state, world.status(task)) == ("queued", "queued")
    address = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    page = client_of(world.admin).get(address)
    assert lacks in page.content.decode()
    health = Client().get("/healthz").json()
    assert health["jobs_without_worker"] == 1


def test_a_worker_silent_for_a_lease_is_counted_on_nowhere(world: World) -> None:
    """`/healthz`, the task's page, *Runners* and questions to models say the same."""
    task = started(world, CHAT)
    world.able("model")
    page = reverse("task", args=[task.project.owner.key, task.project.key, task.name])
    runners = reverse("project-runners", args=[task.project.owner.key, task.project.key])
    signed_in = client_of(world.admin)
    # A minute less than a lease, so that a slow machine does not make it silent.
    for silent, alive in ((LEASE_SECONDS - 60, True), (LEASE_SECONDS + 1, False)):
        Worker.objects.update(seen_at=timezone.now() - timedelta(seconds=silent))
        assert ("jobs_without_worker" not in Client().get("/healthz").json()) is alive
        assert ("No active runner serves" not in signed_in.get(page).content.decode()) is alive
        assert ("Nothing isolates" in signed_in.get(runners).content.decode()) is alive
        assert (
            "model" in evaluations_live_workers_can_answer(task.project.owner.key, task.project.pk)
        ) is alive


def test_one_that_can_takes_it_then(world: World, bench: Bench) -> None:
    task = started(world, CHAT)
    drive(bench, task)
    assert world.status(task) == "queued"
    with model(says("Done.")) as its:
        drive(bench, task, outgoing=its.outgoing())
    assert world.status(task) == "completed"
    assert unclaimable_jobs.count_unclaimable() == 0


def test_a_worker_that_goes_straight_on_leaves_it_too(world: World, bench: Bench) -> None:
    task = world.start(world.line(document(["a", station("ask", **CHAT)], "offers")))
    drive(bench, task)
    assert list(Job.objects.filter(task=task).order_by("pk").values_list("station", "state")) == [
        ("a", "done"),
        ("ask", "queued"),
    ]


def test_what_a_person_chooses_or_a_station_names_needs_no_default_model() -> None:
    named = {"kind": "chat", "work": {"prompt": "Say it.", "model": "mine"}}
    by_person = {"kind": "route", "work": {"by": "person"}}
    line = read_line(
        document([station("a", **CHAT), station("b", **named), station("c", LABELLED, **by_person)])
    )
    assert [required_offers(each) for each in line.stations] == [
        ("kind:chat", MODEL_SERVER, DEFAULT_MODEL),
        ("kind:chat", MODEL_SERVER),
        ("kind:route",),
    ]


def test_labels_owners_and_a_worker_of_before_count(world: World) -> None:
    task = started(world, CHAT, labels=["gpu"])
    Worker.objects.update(labels=["cpu"])
    assert "label gpu" in str(
        unclaimable_jobs.unclaimed_sentence_by_token_id(task, last(task)).popitem()[1].text
    )
    Worker.objects.update(labels=["gpu"], owners=["somebody"])
    assert (
        "serves this project"
        in unclaimable_jobs.unclaimed_sentence_by_token_id(task, last(task)).popitem()[1].text
    )
    Worker.objects.update(owners=None)
    assert unclaimable_jobs.unclaimed_sentence_by_token_id(task, last(task)) == {}
    Worker.objects.update(offers=["kind:chat", MODEL_SERVER])
    make_worker(offers=["kind:chat", MODEL_SERVER, DEFAULT_MODEL])
    assert (
        "everything that this station needs"
        in unclaimable_jobs.unclaimed_sentence_by_token_id(task, last(task)).popitem()[1].text
    )
    assert unclaimable_jobs.count_unclaimable() == 1


def last(task: Task) -> dict[int, Job]:
    return {job.token_id: job for job in Job.objects.filter(task=task)}


@pytest.mark.wide
def test_counting_costs_the_same_for_many_jobs(world: World) -> None:
    nobody_is_here(world)
    version = world.line(document([station("ask", **CHAT)], "offers"))

    def statements() -> int:
        unclaimable_jobs.count_unclaimable()
        with CaptureQueriesContext(connection) as seen:
            unclaimable_jobs.count_unclaimable()
        return len(seen)

    world.start(version)
    few = statements()
    for _ in range(20):
        world.start(version)
    assert (statements(), unclaimable_jobs.count_unclaimable()) == (few, 21)


def test_a_claim_of_everything_takes_everything(world: World) -> None:
    line = read_line(document([station("a", **CALL)]))
    assert WorkOffer(world.worker.pk).can_do_station("anybody", line.stations[0])
    assert not WorkOffer(world.worker.pk, offers=frozenset({"kind:http"})).can_do_station(
        "anybody", line.stations[0]
    )
