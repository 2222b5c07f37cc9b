"""A worker behind Landlock that serves several owners: it starts no program of any, says so, and goes on by itself when
they are one again. With worker processes as they are started by hand."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.urls import reverse

from pipelines import engine
from pipelines.models import Job, Role, Task, Worker
from pipelines.people import projects
from pipelines.queries.unclaimable_jobs import unclaimed_sentence_by_token_id
from pipelines.work.config import WorkerConfig
from pipelines.work.processes.isolation import Isolation, isolation_places, link_folders
from pipelines.work.transport.local.worker_offer import CurrentOffer
from tests.factories import World, make_member, make_project, station
from tests.fixtures.site import Site, environment, manage, stop
from tests.pages.conftest import client_of
from tests.waiting import until
from tests.work.isolations import isolation_or_skip

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves, pytest.mark.isolation]
NOT_APART = "Landlock does not keep their stations apart"
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(site: Site, tmp_path: Path) -> Iterator[Start]:
    """Starts a worker, behind Landlock unless something else is said."""
    processes: list[subprocess.Popen[bytes]] = []
    log = tmp_path / "worker.log"

    def start_worker(*words: str, isolation: str = "landlock", **settings: str) -> subprocess.Popen[bytes]:
        python = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(sys.executable))]
        asyncio.run(isolation_or_skip(isolation, isolation_places(python, [], tmp_path), tmp_path / "tried"))
        environ = environment(GATELINE_ISOLATION=isolation, **settings)
        processes.append(manage("worker", *words, log=log, env=environ))
        until(lambda: Worker.objects.filter(pid=processes[-1].pid).exists(), log.read_text)
        return processes[-1]

    yield start_worker
    for process in processes:
        stop(process)


def programs(world: World) -> Task:
    """A task whose only station is a command, after one that does nothing."""
    begin = station("begin", {"id": "on", "to": "run"}, kind="noop")
    run = station("run", {"id": "end", "to": "completed"}, kind="command", work={"argv": ["true"]})
    return world.start(world.line(stations=[begin, run]))


def runners_page(world: World) -> str:
    address = reverse("project-runners", args=[world.project.owner.key, world.project.key])
    return " ".join(client_of(world.viewer).get(address).content.decode().split())


def waits(world: World, task: Task) -> str:
    """Why its program is not started, as its page says it."""
    job = Job.objects.filter(task=task).order_by("-pk").first()
    assert job is not None
    sentence = unclaimed_sentence_by_token_id(task, {job.token_id: job}).get(job.token_id)
    return str(sentence.text) if sentence else ""


def test_no_program_of_several_owners_starts_behind_landlock_while_they_are_several(
    world: World, start: Start, tmp_path: Path
) -> None:
    """The worker finds two, is left with one, and is given the second again while it runs."""
    log = tmp_path / "worker.log"
    other = make_project("elsewhere", "other")
    theirs = make_member(other, Role.ADMIN, "their-admin")
    Worker.objects.all().delete()
    start()
    for _turn in range(2):
        task = programs(world)
        until(lambda task=task: "they serve several owners" in waits(world, task), log.read_text)
        page = runners_page(world)
        assert "Starts no program" in page and NOT_APART in page and "No active runner" not in page
        assert "Install bubblewrap there" in page and other.key not in page
        assert Job.objects.get(task=task, station="run").state == "queued"
        projects.set_archived(other, True, by=theirs)
        until(lambda task=task: world.status(task) == "completed", log.read_text)
        assert NOT_APART not in runners_page(world)
        projects.set_archived(other, False, by=theirs)
    assert "GATELINE_LANDLOCK_SEVERAL_OWNERS" in log.read_text()


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["--owner", "acme"], {}),
        ([], {"GATELINE_LANDLOCK_SEVERAL_OWNERS": "yes"}),
        ([], {"isolation": "bubblewrap"}),
    ],
)
def test_a_worker_of_one_owner_one_that_is_allowed_to_and_bubblewrap_start_them(
    words: list[str], more: dict[str, str], world: World, start: Start, tmp_path: Path
) -> None:
    make_project("elsewhere", "other")
    assert world.project.owner.key == "acme"
    Worker.objects.all().delete()
    start(*words, **more)
    task = programs(world)
    until(lambda: world.status(task) == "completed", (tmp_path / "worker.log").read_text)
    assert NOT_APART not in runners_page(world)


def test_what_another_owner_brings_after_the_count_is_not_claimed(world: World) -> None:
    """Between the count of owners and the claim there is a moment: with the claim that was counted for."""
    config = WorkerConfig(Path("/w"), Isolation("landlock"))
    offer = CurrentOffer(world.worker.pk, config)
    own = programs(world)
    counted = offer.refresh_and_store()
    other = World(make_project("elsewhere", "other"), world.worker, {})
    run = station("run", {"id": "end", "to": "completed"}, kind="command", work={"argv": ["true"]})
    theirs = other.start(other.line(stations=[run]))
    assert engine.start_claimed_job_or_none(Job.objects.get(task=theirs).pk, counted) is None
    assert engine.start_claimed_job_or_none(Job.objects.get(task=own).pk, counted) is not None
    assert offer.refresh_and_store().offers != counted.offers
