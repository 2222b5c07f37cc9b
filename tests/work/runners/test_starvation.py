"""Jobs that a runner may not do never keep it from those that it may, however many there are and however long they
wait: it gets its own at the next poll, a runner of ours and one of ALP alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from pipelines.engine.core.values import Actor
from pipelines.engine.moves.agent_suspension import suspend_agent
from pipelines.models import Agent, Job, Repository, Task, Token, Worker
from pipelines.ports.leases import WorkOffer
from pipelines.queries.statements import QUEUED_IN_PROJECT
from pipelines.work.transport.http.wire_format import PROTOCOL
from pipelines.work.transport.local.claimable import claimable_jobs, unattended_jobs
from tests.dialects.test_alp_runner import Runner as AlpRunner
from tests.dialects.test_alp_runner import address
from tests.factories import World, make_world, station
from tests.fixtures.site import Site
from tests.plans import among_others, by_key, jobs_are_read_by_key, plan
from tests.waiting import until
from tests.work.driving import command
from tests.work.runners.far import FACTS, FarAway
from tests.work.runners.running import runner

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
MANY = 205
TO_END = {"id": "end", "to": "completed"}
ROOM = {"drive": 4, "evaluate": 4, "quick": 4}
HEADERS = {"headers": {"Authorization": {"secret": "API"}}, "url": "https://example.com/"}


def lined_up(world: World, key: str, *stations: Any, **more: Any) -> list[Task]:
    """Tasks that came before the one which the runner may do, and are more urgent: all but the first are copies."""
    version = world.line(stations=list(stations), key=key, **more)
    among_others(world.start(version, priority="high"), MANY - 1)
    return list(Task.objects.filter(line=version.line).order_by("pk"))


def make_agent(world: World) -> Agent:
    return Agent.objects.create(
        project=world.project, key="sue", owner=world.admin, created_at=timezone.now()
    )


@pytest.fixture
def queue_is_empty() -> Callable[[], None]:
    """The tickets came to a worker that does not do the work, or were lost with one."""

    def empty() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM procrastinate_jobs")

    return empty


def labels(world: World, kind: dict[str, Any]) -> None:
    lined_up(world, "labels", station("a", labels=["gpu"], **kind))


def one_of_two_labels(world: World, kind: dict[str, Any]) -> None:
    lined_up(world, "labels", station("a", labels=["build", "gpu"], **kind))


def other_kinds(world: World, kind: dict[str, Any]) -> None:
    lined_up(world, "models", station("a", kind="chat", work={"prompt": "Say it."}))


def secrets(world: World, kind: dict[str, Any]) -> None:
    lined_up(world, "secrets", station("a", kind="http", work=HEADERS))


def another_project(world: World, kind: dict[str, Any]) -> None:
    lined_up(make_world(), "elsewhere", station("a", **kind))


def a_suspended_agent(world: World, kind: dict[str, Any]) -> None:
    agent = make_agent(world)
    lined_up(world, "agents", station("a", agent=agent.key, **kind))
    suspend_agent(agent.pk, actor=Actor.person(world.admin), reason="It repeats itself.")


def an_agent_at_capacity(world: World, kind: dict[str, Any]) -> None:
    agent = make_agent(world)
    first, *_others = lined_up(world, "agents", station("a", agent=agent.key, **kind))
    world.started(first)
    Agent.objects.update(capacity=1)


def held(world: World, kind: dict[str, Any]) -> None:
    tasks = lined_up(world, "held", station("a", **kind))
    Token.objects.filter(task__in=tasks).update(status="held", wait={"paused_by": "somebody"})


REASONS = (
    labels,
    one_of_two_labels,
    other_kinds,
    secrets,
    another_project,
    a_suspended_agent,
    an_agent_at_capacity,
    held,
)
COMMAND = {"kind": "command", "work": {"argv": ["true"]}}


@pytest.mark.broken
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.__name__)
def test_a_runner_gets_its_job_at_the_next_poll(
    world: World, tmp_path: Path, reason: Callable[[World, dict[str, Any]], None]
) -> None:
    far = FarAway(tmp_path / "far", world.runner("build")[1])
    offers = [offer for offer in FACTS["offers"] if offer not in ("model-server", "default-model")]
    assert far.call("", {**FACTS, "offers": offers, "protocol": PROTOCOL}).status_code == 200
    reason(world, COMMAND)
    own = world.start(world.line(stations=[station("b", TO_END, **COMMAND)], key="own"), priority="low")
    answer = far.call("/waiting", {"room": ROOM})
    assert [row["job"] for row in answer.json()["jobs"]] == [world.job(own).pk]
    [started] = far.call("/claims", {"jobs": [world.job(own).pk]}).json()["started"]
    assert started["orders"]["job_id"] == world.job(own).pk


@pytest.mark.broken
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.__name__)
def test_a_runner_of_alp_gets_its_job_at_the_next_poll(
    world: World, reason: Callable[[World, dict[str, Any]], None]
) -> None:
    alp = AlpRunner(address(world), world.runner("build")[1])
    assert alp.register().status_code == 200
    reason(world, {"kind": "runner"})
    own = world.start(world.line(stations=[station("b", kind="runner")], key="own"), priority="low")
    job = alp.poll()
    assert job is not None and str(job["id"]) == str(world.job(own).pk)


@pytest.mark.broken
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.__name__)
def test_a_worker_beside_the_database_finds_its_job_without_a_ticket(
    world: World, reason: Callable[[World, dict[str, Any]], None], queue_is_empty: Callable[[], None]
) -> None:
    reason(world, COMMAND)
    own = world.start(world.line(stations=[station("b", TO_END, **COMMAND)], key="own"), priority="low")
    queue_is_empty()
    claim = WorkOffer(
        world.worker.pk,
        frozenset({"build"}),
        frozenset({world.project.owner.key}) if reason is not another_project else None,
        offers=frozenset({"kind:command"}),
        project=world.project.pk if reason is another_project else None,
    )
    assert list(unattended_jobs(claim, ROOM, -1.0)) == [world.job(own).pk]


@pytest.mark.broken
def test_images_that_a_runner_has_not_hold_up_nobody_whose_repository_needs_none(
    world: World, tmp_path: Path
) -> None:
    far = FarAway(tmp_path / "far", world.runner()[1])
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    for name, prepare in (("heavy", {"image": "debian:13"}), ("light", {})):
        Repository.objects.create(
            project=world.project,
            name=name,
            address=f"https://example.com/{name}.git",
            default_branch="main",
            prepare=prepare,
            connected_at=timezone.now(),
        )
    inputs = [{"key": "repository", "type": "repository", "label": "Repository", "required": True}]
    version = world.line(
        stations=[station("a", TO_END, **COMMAND)],
        workspace={"git": {"repository": "input.repository"}},
        inputs=inputs,
    )
    among_others(world.start(version, priority="high", inputs={"repository": "heavy"}), MANY - 1)
    own = world.start(version, inputs={"repository": "light"})
    answer = far.call("/waiting", {"room": ROOM})
    assert [row["job"] for row in answer.json()["jobs"]] == [world.job(own).pk]


@pytest.mark.broken
def test_a_runner_in_a_process_of_its_own_does_its_work(site: Site, world: World, tmp_path: Path) -> None:
    labels(world, COMMAND)
    own = world.start(world.line(stations=[command("b", "print('done')", TO_END)], key="own"), priority="low")
    with runner(site.url, world.runner("build")[1], tmp_path / "far") as far:
        until(lambda: world.status(own) == "completed", lambda: far.log.read_text()[-3000:])
    assert Job.objects.filter(state=Job.State.QUEUED).count() == MANY
    assert Worker.objects.get(name="far").stopped_at is not None


@pytest.mark.broken
def test_the_statements_of_a_claim_read_no_job_but_by_the_index(world: World) -> None:
    """Among many jobs of others, by the server's own statistics of them."""
    among_others(world.start(world.line(stations=[station("a", labels=["gpu"], **COMMAND)], key="others")))
    claim = WorkOffer(
        world.worker.pk, frozenset({"gpu"}), offers=frozenset({"kind:command"}), project=world.project.pk
    )
    with jobs_are_read_by_key():
        assert len(claimable_jobs(claim, ROOM)) == 4
    steps = plan(QUEUED_IN_PROJECT, [world.project.pk])
    assert steps and all(by_key(step) for step in steps), steps
